// Settings in the fragment of the address (#fp=1&fn=20), so that a reload or a sent link keeps them.

// A fragment longer than this was not written by a page.
const LONGEST_FRAGMENT = 4000;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** The number that a text is, null if it is none within limits. */
function numberIn(text, min, max) {
  const value = NUMBER.test(text) ? Number(text) : NaN;
  return Number.isFinite(value) && value >= min && value <= max ? value : null;
}

/**
 * What a fragment says. Every method returns null where a setting is missing or is not what it
 * should be: an edited fragment is ignored, setting by setting, and its text is never shown.
 */
class Fragment {
  constructor(hash) {
    this.settings = new URLSearchParams(hash.length <= LONGEST_FRAGMENT ? hash.replace(/^#/, "") : "");
  }

  /** A number within limits. */
  number(name, min, max) {
    return numberIn(this.settings.get(name) ?? "", min, max);
  }

  integer(name, min, max) {
    const value = this.number(name, min, max);
    return Number.isInteger(value) ? value : null;
  }

  /** One of some texts. */
  choice(name, options) {
    const text = this.settings.get(name);
    return options.includes(text) ? text : null;
  }

  /** Two costs, at least one of them above 0. */
  costs(first, second) {
    const found = [first, second].map((name) => this.number(name, 0, LARGEST_COST));
    return !found.includes(null) && found[0] + found[1] > 0 ? found : null;
  }

  /** Numbers separated by commas, `length` of them. */
  numbers(name, length, min, max) {
    const values = (this.settings.get(name) ?? "").split(",").map((text) => numberIn(text, min, max));
    return values.length === length && !values.includes(null) ? values : null;
  }
}

/**
 * Keep the page's settings in its address.
 *
 * save: () => an object of settings, with null for those that have their default;
 * restore: (fragment) => set all of them from a Fragment, the missing ones to their defaults.
 * Restores at once and whenever the address changes. Returns a function to call after every change.
 */
function keepInAddress({ save, restore }) {
  let waiting = 0;
  const write = () => {
    const settings = new URLSearchParams();
    for (const [name, value] of Object.entries(save())) {
      if (value !== null && value !== undefined) settings.set(name, String(value));
    }
    const text = settings.toString().replaceAll("%2C", ",");
    try {
      history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
    } catch {
      // a browser may refuse; the page works all the same
    }
  };
  restore(new Fragment(location.hash));
  addEventListener("hashchange", () => restore(new Fragment(location.hash)));
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(write, 150);
  };
}
