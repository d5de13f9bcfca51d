// What the page carries: typed arrays, piecewise linear functions of τ, and how numbers are said.

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

/** How many entries of an increasing array are below a value (lower), or up to it (upper). */
function lowerBound(array, value) {
  let first = 0;
  let last = array.length;
  while (first < last) {
    const middle = (first + last) >> 1;
    if (array[middle] < value) first = middle + 1;
    else last = middle;
  }
  return first;
}

function upperBound(array, value) {
  let first = 0;
  let last = array.length;
  while (first < last) {
    const middle = (first + last) >> 1;
    if (array[middle] <= value) first = middle + 1;
    else last = middle;
  }
  return first;
}

/** The value at τ of a function that is linear between nodes. */
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
    this.nodes = unpack(packed.nodes);
    this.starts = unpack(packed.starts);
    this.at = unpack(packed.at);
    this.values = unpack(packed.values);
  }

  get length() {
    return this.starts.length - 1;
  }

  value(i, tau) {
    let first = this.starts[i];
    let last = this.starts[i + 1] - 1;
    if (tau <= this.nodes[this.at[first]]) return this.values[first];
    while (last - first > 1) {
      const middle = (first + last) >> 1;
      if (this.nodes[this.at[middle]] < tau) first = middle;
      else last = middle;
    }
    const begin = this.nodes[this.at[first]];
    const end = this.nodes[this.at[last]];
    if (tau >= end) return this.values[last];
    const part = (tau - begin) / (end - begin);
    return this.values[first] + part * (this.values[last] - this.values[first]);
  }

  /** Nodes and values of one of them, as pairs. */
  points(i) {
    const points = [];
    for (let k = this.starts[i]; k < this.starts[i + 1]; k++) {
      points.push([this.nodes[this.at[k]], this.values[k]]);
    }
    return points;
  }

  range() {
    return extent(this.values);
  }
}

/** Many functions of τ as sums of a few that are linear between nodes. */
class LowRank {
  constructor(packed) {
    this.taus = unpack(packed.taus);
    this.basis = unpack(packed.basis);
    this.scales = unpack(packed.scales);
    this.weights = unpack(packed.weights);
    this.error = packed.error;
    this.sampled = packed.sampled;
    this.now = new Float64Array(this.scales.length);
    this.tau = NaN;
  }

  get length() {
    return this.weights.length / this.scales.length;
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

  /** Compute what all functions are made of at one τ. */
  seek(tau) {
    const n = this.taus.length;
    const k = clamp(lowerBound(this.taus, tau), 1, n - 1);
    const width = this.taus[k] - this.taus[k - 1];
    const part = width > 0 ? clamp((tau - this.taus[k - 1]) / width, 0, 1) : 1;
    for (let r = 0; r < this.now.length; r++) {
      const before = this.basis[r * n + k - 1];
      this.now[r] = this.scales[r] * (before + part * (this.basis[r * n + k] - before));
    }
    this.tau = tau;
  }
}

/** "off by at most 0.1 % of their range": no bound where the error was measured on a sample. */
function sayOff({ error, sampled }, whose = "their") {
  return `off by ${sampled ? "about" : "at most"} ${say(100 * error, 2)} % of ${whose} range`;
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

// -- how numbers are said -----------------------------------------------------------------------

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

function sayCount(count) {
  return Math.round(count).toLocaleString("en-GB").replaceAll(",", "\u202f");
}

/** "1 miss", "3 misses". */
function counted(count, one, many) {
  return `${sayCount(count)} ${Math.round(count) === 1 ? one : many}`;
}

function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}
