// Settings in the fragment of the address (#fp=1&fn=20), so that a reload or a sent link keeps them.

// A fragment longer than this was not written by a page.
const LONGEST_FRAGMENT = 4000;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/**
 * What a fragment says. Every method returns null where a setting is missing or is not what it
 * should be: an edited fragment is ignored, setting by setting, and its text goes nowhere.
 */
class Fragment {
  constructor(hash) {
    this.settings = new URLSearchParams(hash.length <= LONGEST_FRAGMENT ? hash.replace(/^#/, "") : "");
  }

  /** A number within limits. */
  number(name, min = -Infinity, max = Infinity) {
    const text = this.settings.get(name) ?? "";
    const value = NUMBER.test(text) ? Number(text) : NaN;
    return Number.isFinite(value) && value >= min && value <= max ? value : null;
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

  /** Numbers separated by commas, `length` of them. */
  numbers(name, length, min = -Infinity, max = Infinity) {
    const texts = (this.settings.get(name) ?? "").split(",");
    const values = texts.map((text) => (NUMBER.test(text) ? Number(text) : NaN));
    const fits = values.length === length && values.every((v) => Number.isFinite(v) && v >= min && v <= max);
    return fits ? values : null;
  }
}

/**
 * Keep the page's settings in its address.
 *
 * save: () => an object of settings, with null for those that are as usual;
 * restore: (fragment) => set all of them from a Fragment, the missing ones to what is usual.
 * Call `changed()` after every change. Restoring is done at once, and when the address changes.
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
      // a browser that refuses leaves the address as it is; the page works all the same
    }
  };
  restore(new Fragment(location.hash));
  addEventListener("hashchange", () => restore(new Fragment(location.hash)));
  return {
    changed() {
      clearTimeout(waiting);
      waiting = setTimeout(write, 150);
    },
  };
}
