// The server's answers. Positions are kept, as the same moves always lead to the same one.

const positions = new Map();
const MOST = 500;

async function asked(response) {
  let found = null;
  try {
    found = await response.json();
  } catch {
    throw new Error(`the server answered ${response.status}`);
  }
  if (!response.ok) throw Object.assign(new Error(found.error || `status ${response.status}`), { status: response.status });
  return found;
}

export async function get(path, fields = {}) {
  const query = new URLSearchParams(fields).toString();
  return asked(await fetch(query ? `${path}?${query}` : path));
}

export async function post(path, fields) {
  const headers = { "Content-Type": "application/json" };
  return asked(await fetch(path, { method: "POST", headers, body: JSON.stringify(fields) }));
}

export function keep(position) {
  if (positions.size > MOST) positions.clear();
  positions.set(`${position.game} ${position.moves}`, position);
  return position;
}

export async function positionAfter(game, moves) {
  return positions.get(`${game} ${moves}`) || keep(await get("/api/position", { game, moves }));
}
