// What the page shows, as the part of its address behind #, so that a link shares it.

export const NOBODY = "nobody";
const KNOWN = ["view", "game", "moves", "at", "opponent", "seat", "seed", "first", "second"];

export function readLink() {
  const found = {};
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    if (KNOWN.includes(name) && value.length <= 256) found[name] = value;
  }
  return found;
}

// The part of an address behind # for a state. Going there (location.hash = ...) shows it.
export function linkTo(state) {
  const fields = KNOWN.filter((name) => state[name] !== undefined && state[name] !== null && state[name] !== "");
  const text = new URLSearchParams(fields.map((name) => [name, state[name]])).toString();
  return `#${text.replaceAll("%3A", ":").replaceAll("%2C", ",")}`;
}

export function writeLink(state) {
  const hash = linkTo(state);
  if (hash !== location.hash) history.replaceState(null, "", hash);
}

// The link to share: without the token of a training, which is its owner's.
export function sharedLink(state) {
  const shared = { ...state };
  if (String(state.opponent).startsWith("training:")) shared.opponent = NOBODY;
  writeLink(shared);
  const link = location.href;
  writeLink(state);
  return link;
}

export function newSeed() {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (high >>> 11) * 2 ** 32 + low;
}
