// Where each τ is on a slider or along a chart: evenly, or by the ratio of two costs.
//
// position(τ) is from 0 to 1, at(position) its inverse, and tau(position) that as a slider gives it;
// move(τ, steps, fine) is what keys do, `page` how many steps a page key makes, `ends` where the home and end keys go.

/** τ from 0 to 1, evenly: for quantiles. */
const EVEN = {
  position: (tau) => tau,
  at: (position) => position,
  tau: (position) => position,
  move: (tau, steps, fine) => clamp(tau + (fine ? 0.001 : 0.01) * steps, 0, 1),
  page: 10,
  ends: [0, 1],
  ticks: [],
  help: "Arrow keys move by a hundredth, with shift by a thousandth, page keys by a tenth.",
};

// Ratios that arrow keys stop at, between 1 and 10.
const ROUND = [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
const FINE = 0.01; // decades
const A_DECADE = 1e9; // steps that stand for one

/**
 * The ratio of two costs τ : (1 - τ) on a logarithmic scale, so many powers of ten either way.
 * Equal costs are in the middle; whatever lies outside is at the end.
 */
function costScale(decades) {
  const ratio = (tau) => Math.log10(tau / (1 - tau));
  const tau = (exponent) => 1 / (1 + 10 ** -exponent);
  const within = (exponent) => clamp(exponent, -decades, decades);

  /** The next round ratio, up or down. */
  function nextRound(exponent, direction) {
    const size = Math.abs(exponent);
    const away = exponent === 0 || Math.sign(exponent) === direction; // from equal costs
    const stops = [];
    for (let d = 0; d <= decades; d++) for (const r of ROUND) stops.push(d + Math.log10(r));
    const next = away ? stops.find((stop) => stop > size + 1e-9) : stops.findLast((stop) => stop < size - 1e-9);
    return (away ? direction : -direction) * (next ?? 0);
  }

  const ticks = [];
  for (let d = -decades; d <= decades; d++) ticks.push([tau(d), sayRatio(tau(d))]);
  return {
    position: (t) => clamp((ratio(t) + decades) / (2 * decades), 0, 1),
    at: (position) => tau((2 * position - 1) * decades),
    // three digits of the larger cost are enough where the slider is dragged
    tau: (position) => roundedTau((2 * position - 1) * decades),
    move: (t, steps, fine) => {
      const now = within(ratio(t));
      if (Math.abs(steps) === A_DECADE) return roundedTau(within(now + Math.sign(steps)));
      return roundedTau(within(fine ? now + FINE * steps : nextRound(now, Math.sign(steps))));
    },
    page: A_DECADE,
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
