// The view in which agents are trained: the form, progress and curves, a game walked through, and on to playing it.

import { picture } from "./board.js";
import { button, byId, card, count, el, linkTo, newSeed, option, positionAfter, post, store, stored, svg, tableOf, trainedName } from "./base.js";
import { Keeper } from "./keep.js";

const [EVERY, LONGEST] = [500, 5000]; // milliseconds between two looks, and at most between two attempts
const KEY = "training"; // under which the token outlives a reload
const SIDES = ["red", "yellow"];
const BEGIN =
  "Train an agent. As the form is set, nothing beats it after some three thousand games. With 50 games it can be beaten.";
const ENDED = { waiting: "", running: "", done: "The training is over: ", stopped: "Stopped: ", proven: "The training is over: " };
const UNPROVEN = "On so large a game 100 games against random play judge it; there is no exact verdict while it learns.";
const LOST = "The server cannot be reached; trying again…";
const STEPS =
  "What the agent learned from a single game: its values before the game and after, in the order in which it corrected " +
  "them. “After 3” is the position after three moves; a move comes before it if moves have values.";

const pause = (time) => new Promise((done) => setTimeout(done, time));

// Asks until there is an answer: a network that was cut, or a server that is busy, comes back. Only for what may be asked
// twice.
async function patiently(path, fields, lost) {
  for (let wait = EVERY; ; wait = Math.min(2 * wait, LONGEST)) {
    try {
      return await post(path, fields);
    } catch (error) {
      if (error.status && error.status !== 429 && error.status < 500) throw error;
      lost();
      await pause(wait);
    }
  }
}

export class Training {
  constructor({ games }, menu, table, trouble) {
    Object.assign(this, { table, trouble, token: null, plan: new Plan(menu, games), lesson: new Lesson() });
    this.begin = el("button", { type: "submit", class: "main" }, "Train");
    this.stop = button("Stop", () => this.end(), { disabled: true });
    this.play = button("Play what was trained", () => this.playIt(), { disabled: true });
    this.progress = el("progress", { max: 1, value: 0, "aria-label": "Progress of the training" });
    this.status = el("p", { class: "status left", role: "status" }, BEGIN);
    this.truth = el("p");
    this.curves = el("div", { class: "curves" });
    const submit = (event) => event.preventDefault() || this.run(() => this.start());
    const buttons = el("div", { class: "buttons" }, this.begin, this.stop);
    this.keeper = new Keeper(trouble);
    const last = [el("div", { class: "buttons" }, this.play), this.keeper.element];
    const report = [this.status, this.progress, this.truth, this.curves, ...last];
    byId("train").append(
      el("div", { class: "two" },
        card("Train an agent", el("form", { class: "form", onsubmit: submit }, this.plan.element, buttons)),
        el("div", {}, el("section", { class: "card", "aria-label": "Progress and results" }, report), this.lesson.element),
      ),
    );
    if (stored(KEY, true)) this.run(() => this.resume());
  }

  async run(training) {
    this.trouble("");
    this.begin.disabled = true;
    try {
      await training();
    } catch (error) {
      this.trouble(error.message);
    } finally {
      this.begin.disabled = false;
      this.stop.disabled = true;
    }
  }

  async start() {
    const plan = this.plan.chosen();
    const { token } = await post("/api/training/begin", plan);
    store(KEY, token, true);
    this.status.textContent = "The training begins…";
    await this.follow(token, plan.game);
  }

  // After a reload: the training that was begun in this tab, as long as the server knows it.
  async resume() {
    const token = stored(KEY, true);
    try {
      const { plan } = await patiently("/api/training/look", { token }, () => this.lost());
      await this.follow(token, plan.game);
    } catch (error) {
      if (error.status !== 404) throw error;
      store(KEY, null, true);
    }
  }

  async follow(token, game) {
    Object.assign(this, { token, game, rows: [] });
    this.lesson.clear(game, token);
    this.play.disabled = true;
    this.curves.replaceChildren();
    this.truth.replaceChildren();
    this.stop.disabled = false;
    for (;;) {
      const report = await patiently("/api/training/look", { token, since: this.rows.length }, () => this.lost());
      this.show(report);
      if (!["waiting", "running"].includes(report.state)) return;
      await pause(EVERY);
    }
  }

  lost() {
    this.status.textContent = LOST;
  }

  show({ rows, done, total, unit, state, place, reason, plan, lessons, saved, kept }) {
    this.rows.push(...rows);
    this.progress.max = total;
    this.progress.value = done;
    const played = `${count(done)} of ${count(total)} ${unit}`;
    this.status.textContent = `${ENDED[state]}${played}.`;
    if (state === "failed") this.status.textContent = `The training failed: ${reason}`;
    if (state === "waiting") this.status.textContent = `Waiting, number ${place} in the queue. Stop leaves it.`;
    if (rows.length) {
      drawCurves(this.curves, this.rows, total, unit);
      this.truth.replaceChildren(...truthInWords(this.rows.at(-1), plan));
    }
    this.lesson.offer(lessons, unit);
    this.play.disabled = !saved;
    this.play.classList.toggle("main", saved && state !== "running");
    this.keeper.offer(this.token, { saved, kept, plan });
    this.trained = { name: `training:${this.token}`, shown: trainedName({ kept, plan, done, unit }) };
  }

  async end() {
    this.stop.disabled = true;
    const stopped = patiently("/api/training/stop", { token: this.token }, () => this.lost());
    await stopped.catch((error) => this.trouble(error.message));
  }

  playIt() {
    const { setup } = this.table;
    const { kept } = this.keeper;
    if (kept) this.trained = { name: `league:${kept}`, shown: kept };
    setup.named = [...setup.named.filter((one) => one.name !== this.trained.name), this.trained];
    location.hash = linkTo({ view: "play", game: this.game, opponent: this.trained.name, seat: "first", seed: newSeed() });
  }
}

function truthInWords({ exact, infallible, beaten_first, beaten_second }, { agent, game }) {
  if (!exact) return [UNPROVEN];
  const proven = "every reply to it was walked, and none beats it, from either seat.";
  if (infallible) return [el("strong", { class: "good" }, "✓ Provably unbeatable: "), proven];
  const links = [["first", beaten_first], ["second", beaten_second]].filter(([, moves]) => moves !== null).map(([seat, moves]) => {
    const names = seat === "first" ? `first=${agent}&second=you` : `first=you&second=${agent}`;
    const href = `#view=play&game=${game}&moves=${moves}&at=0&opponent=nobody&${names}`;
    return el("a", { href }, `as ${seat} player by ${moves}`);
  });
  const listed = links.flatMap((link, i) => (i ? [", ", link] : [link]));
  return [el("strong", { class: "bad" }, "✗ It can be beaten: "), ...listed, "."];
}

const SEATS = { first: "first", second: "second", random: "a random one each game", alternate: "first and second in turn" };
const WORDS = { learning_rate: "Learning rate", epsilon: "Exploration (epsilon)", gamma: "Discount (gamma)", initial_value: "Value at first" };
const OPPONENTS = ["random", "rule", "minimax", "minimax:2", "mcts:50", "level:3", "level:6", "perfect:0.3", "perfect"];
const ITSELF = "itself";
const SMALL = ["KInARow-v0:3x4-3", "KInARow-v0:3x4-3,gravity=False"];

// The form of a training: agent, preset, game, opponent, seat, length and main settings.
class Plan {
  constructor(menu, games) {
    this.menu = menu;
    const named = (name) => option(name, name);
    this.agent = el("select", { onchange: () => this.choose("") }, Object.keys(menu.agents).map(named));
    this.preset = el("select", { onchange: () => this.choose(this.preset.value) });
    const sizes = SMALL.map((name) => option(name, name.replace("KInARow-v0:", "size ")));
    this.small = [...games.filter((one) => one.small).map((one) => one.name), ...SMALL];
    this.game = el("select", { onchange: () => this.provenOff() }, games.map((one) => option(one.name, one.title)), sizes);
    this.opponent = el("select", { onchange: () => this.seatOff() }, [ITSELF, ...OPPONENTS].map(named));
    this.seat = el("select", {}, menu.seats.map((name) => option(name, SEATS[name])));
    this.total = el("input", { type: "number", min: 1, max: 2_000_000, required: true });
    this.unit = el("span", {}, "Games");
    this.proven = el("input", { type: "checkbox", checked: true });
    this.main = el("div", { class: "form" });
    this.seed = el("input", { type: "number", min: 0, max: 1e9, value: 0, required: true });
    const label = (shown, input) => el("label", {}, shown, input);
    this.element = el("div", { class: "form" },
      label("Agent", this.agent),
      label("Settings to begin with", this.preset),
      label("Game", this.game),
      label("Opponent in training", this.opponent),
      label("Its seat", this.seat),
      label(this.unit, this.total),
      el("details", {}, el("summary", {}, "More settings"), this.main, label("Seed", this.seed)),
      el("label", { class: "check" }, this.proven, "Stop as soon as nothing beats it"),
    );
    this.agent.value = menu.first.agent;
    this.choose(menu.first.preset);
    this.provenOff();
  }

  provenOff() {
    this.proven.disabled = !this.small.includes(this.game.value);
  }

  seatOff() {
    this.seat.disabled = this.opponent.value === ITSELF;
  }

  // Shows the plan of a preset.
  choose(name) {
    const { presets, unit, settings } = this.menu.agents[this.agent.value];
    this.base = presets[name];
    const { opponent, play_as, total, settings: own } = this.base;
    this.preset.replaceChildren(...Object.keys(presets).map((one) => option(one, one || "the usual ones", name)));
    this.opponent.value = opponent ?? ITSELF;
    this.seat.value = play_as;
    this.total.value = total;
    this.unit.textContent = unit === "steps" ? "Steps" : "Games";
    this.inputs = Object.entries(settings).map(([setting, usual]) => {
      const value = JSON.stringify(own[setting] ?? usual);
      return { setting, usual, input: el("input", { value, spellcheck: "false", "data-setting": setting }) };
    });
    this.main.replaceChildren(...this.inputs.map(({ setting, input }) => el("label", {}, WORDS[setting], input)));
    this.seatOff();
  }

  // What was chosen, as the server takes it.
  chosen() {
    const settings = { ...this.base.settings };
    for (const { setting, usual, input } of this.inputs) {
      let value;
      try {
        value = JSON.parse(input.value);
      } catch {
        const allowed = "a number, or several in brackets such as [0.8, 0.4, 0.1]";
        throw new Error(`${WORDS[setting]} must be ${allowed}, not ${input.value}`);
      }
      if (JSON.stringify(value) !== JSON.stringify(settings[setting] ?? usual)) settings[setting] = value;
    }
    return {
      agent: this.agent.value,
      game: this.game.value,
      opponent: this.opponent.value === ITSELF ? null : this.opponent.value,
      play_as: this.seat.value,
      total: Number(this.total.value),
      seed: Number(this.seed.value),
      rewards: this.base.rewards,
      settings,
      until_proven: this.proven.checked && !this.proven.disabled,
    };
  }
}

const [WIDTH, HEIGHT] = [300, 120];
const RESULTS = ["won", "drawn", "lost"];

// The curves of a training: how far it can be exploited, and how it does against random play.
function drawCurves(root, rows, total, unit) {
  const end = Math.max(total, rows.at(-1).at, 1);
  const axis = { x: (row) => (WIDTH * row.at) / end, end: `${count(end)} ${unit}` };
  const shown = ["first", "second"].map((seat) => shares(rows, seat, axis));
  root.replaceChildren(...(rows[0].exploitability === null ? [] : [exploitability(rows, axis)]), ...shown);
}

const line = (rows, x, y) => rows.map((row) => `L${x(row).toFixed(1)} ${y(row).toFixed(1)}`).join("");

function exploitability(rows, { x, end }) {
  const most = Math.max(1, ...rows.map((row) => row.exploitability));
  const y = (row) => HEIGHT * (1 - row.exploitability / most);
  const path = svg("path", { d: line(rows, x, y).replace("L", "M"), class: "line-curve" });
  const proven = rows.filter((row) => row.unbeatable);
  const dots = proven.map((row) => svg("circle", { cx: x(row), cy: y(row), r: 3, class: "good" }));
  const now = `now ${rows.at(-1).exploitability.toFixed(3)}: what the best opponent gains; 0 is perfect`;
  return chart("Exploitability (exact)", now, now, [path, dots], most.toFixed(1), end);
}

// Stacked: won at the bottom, lost at the top.
function shares(rows, seat, { x, end }) {
  const last = rows.at(-1);
  const areas = [2, 1, 0].map((result) => {
    const top = (row) => HEIGHT * (1 - row[seat].slice(0, result + 1).reduce((sum, share) => sum + share, 0));
    const d = `M${x(rows[0])} ${HEIGHT}${line(rows, x, top)}L${x(last)} ${HEIGHT}Z`;
    return svg("path", { d, class: `area ${RESULTS[result]}` });
  });
  const now = RESULTS.map((name, i) => `${name} ${(100 * last[seat][i]).toFixed(1)} %`);
  const keys = now.map((shown, i) => el("span", { class: `key ${RESULTS[i]}` }, shown));
  const title = `As ${seat} player against random play${last.exact ? "" : " (100 games)"}`;
  return chart(title, now.join(", "), keys, areas, "", end);
}

function chart(title, now, keys, marks, most, end) {
  const heights = [0, HEIGHT / 2, HEIGHT];
  const grid = heights.map((y) => svg("line", { x1: 0, x2: WIDTH, y1: y, y2: y, class: "grid" }));
  const box = { viewBox: `0 -4 ${WIDTH} ${HEIGHT + 8}`, preserveAspectRatio: "none" };
  const drawn = svg("svg", { ...box, role: "img", "aria-label": `${title}: ${now}` }, marks, grid);
  return el("figure", { class: "chart" },
    el("figcaption", {}, el("strong", {}, title), el("br"), el("span", { class: "soft" }, keys)),
    el("div", { class: "plot" }, el("span", { class: "high" }, most), drawn),
    el("div", { class: "axis" }, el("span", {}, "0"), el("span", {}, end)),
  );
}

// A training game walked through: the board after each move, and each value before and after its backup.
class Lesson {
  constructor() {
    const slide = () => this.load(Number(this.slider.value));
    const range = { type: "range", min: 0, max: 0, value: 0, "aria-label": "Which training game" };
    this.slider = el("input", { ...range, oninput: slide });
    this.which = el("p", { class: "soft" });
    this.board = el("div", { class: "small-board" });
    this.caption = el("p", { class: "soft", role: "status" });
    this.back = button("‹ value before", () => this.choose(this.chosen - 1));
    this.next = button("next value ›", () => this.choose(this.chosen + 1));
    const table = tableOf("", ["", "whose", "value of", "before", "after"].map((name) => [name, ""]), []);
    this.body = table.lastChild;
    this.element = card("One training game, step by step",
      el("p", { class: "soft" }, STEPS),
      this.slider,
      this.which,
      el("div", { class: "lesson" },
        el("div", {}, this.board, this.caption, el("div", { class: "buttons" }, this.back, this.next)),
        el("div", { class: "scroll" }, table),
      ),
    );
    this.element.hidden = true;
  }

  clear(game, token) {
    Object.assign(this, { game, token, games: [], loaded: -1 });
    this.element.hidden = true;
  }

  // games: after how many games each of those that can be walked through was played.
  offer(games, unit) {
    if (unit === "steps" || games.length === this.games.length) return;
    const atEnd = this.loaded === this.games.length - 1;
    this.games = games;
    this.element.hidden = false;
    this.slider.max = games.length - 1;
    if (this.loaded < 0) this.load(0);
    else if (atEnd && this.loaded > 0) this.load(games.length - 1);
  }

  async load(number) {
    const { token } = this;
    this.loaded = number;
    this.slider.value = number;
    const lesson = await patiently("/api/training/lesson", { token, number }, () => {});
    if (token !== this.token || number !== this.loaded) return;
    const { at, moves, backups } = lesson;
    this.backups = backups;
    this.line = await positionAfter(this.game, moves);
    this.slider.setAttribute("aria-valuetext", `game ${at + 1}`);
    this.which.textContent = `Game ${count(at + 1)} of the training: ${this.line.names.join(" ")}. Slide for others.`;
    const nothing = el("td", { colspan: 5 }, "This game taught it nothing new: no value changed.");
    this.body.replaceChildren(...(backups.length ? backups.map((one, i) => this.row(one, i)) : [el("tr", {}, nothing)]));
    await this.choose(0);
  }

  row({ ply, move, seat, before, after }, i) {
    const up = after > before;
    return el("tr", { onclick: () => this.choose(i) },
      el("td", {}, i + 1),
      el("td", {}, el("span", { class: `dot seat${seat}` }), SIDES[seat]),
      el("td", {}, `${move === null ? "" : `${move}, `}after ${ply}`),
      el("td", { class: "number" }, before.toFixed(7)),
      el("td", { class: `number ${up ? "up" : "down"}` }, `${up ? "▲" : "▼"} ${after.toFixed(7)}`),
    );
  }

  async choose(i) {
    const number = Math.max(0, Math.min(i, this.backups.length - 1));
    this.chosen = number;
    this.back.disabled = number <= 0;
    this.next.disabled = number >= this.backups.length - 1;
    [...this.body.children].forEach((row, at) => row.classList.toggle("now", at === number));
    const { ply, seat, move, before, after } = this.backups[number] ?? { ply: this.line.ply };
    const position = await positionAfter(this.game, this.line.history[ply]);
    if (number !== this.chosen) return;
    this.board.classList.toggle("falls", position.falls);
    this.board.replaceChildren(picture(position));
    const value = `${SIDES[seat]}'s value of ${move === null ? "it" : `move ${move}`}`;
    const change = `After ${ply} of ${this.line.ply} moves; ${value} goes from ${before?.toFixed(4)} to ${after?.toFixed(4)}.`;
    this.caption.textContent = this.backups.length ? change : "The end of the game.";
  }
}
