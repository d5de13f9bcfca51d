// Numbers as readers see them.

const MINUS = "\u2212";

function signed(text) {
  return text.replace(/^-/, MINUS).replace(/e-/, `e${MINUS}`).replace(/e\+/, "e");
}

/** A number to some significant digits, without trailing zeros. */
function say(value, digits = 3) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return signed(value.toExponential(digits - 1));
  return signed(String(Number(value.toPrecision(digits))));
}

function sayFixed(value, decimals) {
  return Number.isFinite(value) ? signed(value.toFixed(decimals)) : "–";
}

function percent(share, decimals = 1) {
  return Number.isFinite(share) ? `${sayFixed(100 * share, decimals)} %` : "–";
}

/** A percentage for the ticks of an axis. */
const asPercent = (share) => `${say(100 * share)}\u2009%`;

function sayCount(count) {
  return Math.round(count).toLocaleString("en-GB").replaceAll(",", "\u202f");
}

/** "1 miss", "3 misses". */
function counted(count, one, many) {
  return `${sayCount(count)} ${Math.round(count) === 1 ? one : many}`;
}

/** A cost of all cases: whole where it is large. */
const sayTotal = (cost) => (cost >= 1000 ? sayCount(cost) : say(cost, 4));

const sayBand = ([low, high]) => `${say(low, 2)} to ${say(high, 2)}`;

/** "off by at most 0.1 % of their range"; "about" where the error was measured on a sample. */
function sayOff({ error, sampled }, whose = "their") {
  return `off by ${sampled ? "about" : "at most"} ${say(100 * error, 2)} % of ${whose} range`;
}

/** A cost without the last digits of its rounding. */
const neat = (cost, digits = 12) => Number(cost.toPrecision(digits));

// Standard deviations either side of the mean that hold 95 % of a normal distribution.
const Z = 1.959964;

function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

function extent(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}
