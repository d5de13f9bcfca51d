// Where values are on a slider or along a chart: τ evenly or by the ratio of two costs, or others.
//
// position(value) is from 0 to 1, at(position) its inverse, and rounded(position) the value that a slider gives;
// move(value, steps, fine) is what arrow keys do, `page` how many steps a page key makes, `ends` where the home
// and end keys go, and `ticks` are pairs of a value and its text.

/** Even from one end of a range to the other. */
function evenScale([low, high]) {
  const at = (position) => low + position * (high - low);
  return { position: (value) => (value - low) / (high - low), at, rounded: at, ticks: [] };
}

/** τ from 0 to 1, evenly: for quantiles. */
const EVEN = {
  ...evenScale([0, 1]),
  move: (tau, steps, fine) => clamp(tau + (fine ? 0.001 : 0.01) * steps, 0, 1),
  page: 10,
  ends: [0, 1],
  help: "Arrow keys move by a hundredth, with shift by a thousandth, page keys by a tenth.",
};

// Ratios between 1 and 10 at which arrow keys stop.
const ROUND = [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
// With shift, arrow keys move by this part of a power of ten.
const FINE = 0.01;

/**
 * The ratio of two costs τ : (1 - τ) on a logarithmic scale, `decades` powers of ten either way.
 * Equal costs are in the middle; whatever lies outside is at the end.
 */
function costScale(decades) {
  const exponentOf = (tau) => clamp(Math.log10(tau / (1 - tau)), -decades, decades);
  const tauAt = (exponent) => 1 / (1 + 10 ** -exponent);
  const exponentAt = (position) => (2 * position - 1) * decades;

  /** The next round ratio, up or down. */
  function nextRound(exponent, direction) {
    const size = Math.abs(exponent);
    const away = exponent === 0 || Math.sign(exponent) === direction; // from equal costs
    const stops = [];
    for (let d = 0; d <= decades; d++) for (const r of ROUND) stops.push(d + Math.log10(r));
    const next = away ? stops.find((stop) => stop > size + 1e-9) : stops.findLast((stop) => stop < size - 1e-9);
    return (away ? direction : -direction) * (next ?? 0);
  }

  const page = Infinity; // stands for one power of ten
  const ticks = [];
  for (let d = -decades; d <= decades; d++) ticks.push([tauAt(d), sayRatio(tauAt(d))]);
  return {
    position: (tau) => (exponentOf(tau) + decades) / (2 * decades),
    at: (position) => tauAt(exponentAt(position)),
    // three digits of the larger cost are enough where the slider is dragged
    rounded: (position) => roundedTau(exponentAt(position)),
    move: (tau, steps, fine) => {
      const now = exponentOf(tau);
      const direction = Math.sign(steps);
      const to = Math.abs(steps) === page ? now + direction : fine ? now + FINE * steps : nextRound(now, direction);
      return roundedTau(clamp(to, -decades, decades));
    },
    page,
    ends: [roundedTau(-decades), roundedTau(decades)],
    ticks,
    help: "Arrow keys go from one round ratio to the next, with shift by small steps, page keys by a factor of ten, home and end to the ends.",
  };
}

/** τ of a power of ten, with the ratio rounded to three digits. */
function roundedTau(exponent) {
  const times = Number((10 ** Math.abs(exponent)).toPrecision(3));
  return exponent < 0 ? 1 / (1 + times) : times / (1 + times);
}

/** "1 : 20" where a miss costs twenty times as much as a false alarm. */
function sayRatio(tau) {
  if (!(tau > 0)) return "0\u2009:\u20091";
  if (!(tau < 1)) return "1\u2009:\u20090";
  const ratio = tau / (1 - tau);
  return ratio <= 1 ? `1\u2009:\u2009${say(1 / ratio)}` : `${say(ratio)}\u2009:\u20091`;
}
