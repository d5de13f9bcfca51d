// The arrays that the page carries, and piecewise linear functions of τ.

const TYPES = {
  f8: Float64Array, f4: Float32Array, i4: Int32Array, i2: Int16Array, i1: Int8Array,
  u4: Uint32Array, u2: Uint16Array, u1: Uint8Array,
};

/** The array of a packed one: little-endian bytes in base 64, every double exactly. */
function unpack(packed) {
  const text = atob(packed.bytes);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const size = Number(packed.type[1]);
  if (size > 1 && new Uint8Array(new Uint16Array([1]).buffer)[0] === 0) {
    for (let i = 0; i < bytes.length; i += size) bytes.subarray(i, i + size).reverse();
  }
  return new TYPES[packed.type](bytes.buffer);
}

/** An object with its packed arrays unpacked, and without all else. */
function unpackAll(packed) {
  const arrays = Object.entries(packed).filter(([, value]) => value?.bytes !== undefined);
  return Object.fromEntries(arrays.map(([name, value]) => [name, unpack(value)]));
}

/** A first value, and what it becomes with each of some steps. */
function runningTotals(first, steps) {
  const totals = new Float64Array(steps.length + 1).fill(first);
  steps.forEach((step, k) => (totals[k + 1] = totals[k] + step));
  return totals;
}

/** How many of the first `length` indices fulfil a condition that, once broken, stays broken. */
function countLeading(length, holds) {
  let first = 0;
  let last = length;
  while (first < last) {
    const middle = (first + last) >> 1;
    if (holds(middle)) first = middle + 1;
    else last = middle;
  }
  return first;
}

/** How many entries of an increasing array are below a value (lower), or up to it (upper). */
const lowerBound = (array, value) => countLeading(array.length, (k) => array[k] < value);
const upperBound = (array, value) => countLeading(array.length, (k) => array[k] <= value);

/** The value at τ of a function that is linear between nodes; the left limit where it jumps. */
function interpolate(nodes, values, tau) {
  const k = lowerBound(nodes, tau);
  if (k === 0) return values[0];
  if (k === nodes.length) return values[k - 1];
  const part = (tau - nodes[k - 1]) / (nodes[k] - nodes[k - 1]);
  return values[k - 1] + part * (values[k] - values[k - 1]);
}

/** Several functions of τ, each with nodes of its own. */
class Functions {
  constructor(packed) {
    const { nodes, starts, at, values } = unpackAll(packed);
    this.range = extent(values);
    this.length = starts.length - 1;
    this.curves = Array.from({ length: this.length }, (_, i) => ({
      nodes: Float64Array.from(at.subarray(starts[i], starts[i + 1]), (k) => nodes[k]),
      values: values.subarray(starts[i], starts[i + 1]),
    }));
  }

  value(i, tau) {
    return interpolate(this.curves[i].nodes, this.curves[i].values, tau);
  }

  /** Nodes and values of one of them, as pairs. */
  points(i) {
    const { nodes, values } = this.curves[i];
    return Array.from(nodes, (tau, k) => [tau, values[k]]);
  }
}

/** Many functions of τ: sums Σ weights[i, r] scales[r] basis[r](τ) of a few. */
class LowRank {
  constructor(packed) {
    Object.assign(this, unpackAll(packed));
    this.error = packed.error;
    this.sampled = packed.sampled;
    this.length = this.weights.length / this.scales.length;
    this.now = new Float64Array(this.scales.length); // the basis at the τ asked for last
    this.tau = NaN;
  }

  value(i, tau) {
    const rank = this.scales.length;
    if (tau !== this.tau) this.seek(tau);
    let sum = 0;
    for (let r = 0; r < rank; r++) sum += this.weights[i * rank + r] * this.now[r];
    return sum;
  }

  /** One of the functions at all nodes. */
  values(i) {
    const [n, rank] = [this.taus.length, this.scales.length];
    const values = new Float64Array(n);
    for (let r = 0; r < rank; r++) {
      const weight = this.weights[i * rank + r] * this.scales[r];
      for (let k = 0; k < n; k++) values[k] += weight * this.basis[r * n + k];
    }
    return values;
  }

  seek(tau) {
    const n = this.taus.length;
    this.now.forEach((_, r) => {
      this.now[r] = this.scales[r] * interpolate(this.taus, this.basis.subarray(r * n, (r + 1) * n), tau);
    });
    this.tau = tau;
  }
}
