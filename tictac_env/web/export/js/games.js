// The games of this folder: their rules, and what is known and learned of them, unpacked when they are first played.

import { Book, Table } from "./known.js";
import { Network } from "./ntuple.js";
import { Game } from "./rules.js";

const loaded = new Map();

// {game, known: the table, or the book, or null; network}
export function load(name) {
  const data = globalThis.TICTAC[name];
  if (!data) {
    const titles = Object.values(globalThis.TICTAC).map(({ title }) => title);
    throw new Error(`"${name}" is not in this folder; it holds ${titles.join(" and ")}.`);
  }
  if (!loaded.has(name)) loaded.set(name, unpack(name, data));
  return loaded.get(name);
}

async function unpack(name, { title, rules, table, book, network }) {
  const game = new Game({ name, title, ...rules });
  const known = table ? Table.load(table) : book ? Book.load(book) : null;
  return { game, known: await known, network: await Network.load(network) };
}
