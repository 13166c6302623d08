// The game on the board: the form that sets it up, moves and answers, steps back and on, and what is shown of it.

import { Board } from "./board.js";
import { byId, el, get, keep, newSeed, NOBODY, option, positionAfter, post, trainedName, writeLink } from "./base.js";
import { insightOf, showReview } from "./insight.js";

const SIDE = ["red", "yellow"];
const OTHER = "other";
const WATCH = "watch"; // the seat of a visitor who watches
const YOU = "you"; // the name of the visitor in a link
const SIZED = /^KInARow-v0:(\d+)x(\d+)-(\d+)(,gravity=False)?$/;
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const later = (action) => setTimeout(action, 500);
const has = (select, value) => [...select.options].some((one) => one.value === value);

// A line on the opponents, by the first part of their names.
const LINES = {
  level: "Level 1 plays at random; each level is stronger than the one below.",
  random: "Plays any legal move, each equally often.",
  minimax: "Looks some moves ahead; plays at random among equal moves.",
  "minimax-first": "Looks ahead like minimax, but always plays the first of equal moves.",
  mcts: "Tries each move in simulated games; the number says in how many.",
  ntuple: "A network that has learned from games against itself.",
  perfect: "Plays the exact best move as far as time allows.",
  league: "An agent that somebody trained here and kept.",
};

export class Table {
  constructor(about, trouble) {
    this.trouble = trouble; // shows an error, or nothing
    this.said = "";
    this.turn = 0; // changes with every change of the game, so that late answers are dropped
    this.looks = 0; // changes with every look inside, for the same reason
    this.state = {};
    this.answered = new Set(); // boards and opponents that have answered here: their machine code is there
    this.keys = Promise.resolve(); // settles when what the last key asked for is done
    this.running = 0; // the number of the run that shows move after move; 0 if it pauses
    this.runs = 0;
    this.answering = null; // settles when the opponent has answered
    const play = ({ then }) => this.open({ ...this.state, moves: then, at: undefined });
    this.board = new Board(byId("board"), { play, illegal: (text) => this.say(text) });
    this.setup = new Setup(byId("setup"), about, (chosen) => this.change(chosen));
    const on = (id, event, action) => byId(id).addEventListener(event, action);
    on("retry", "click", () => (this.answering = this.answer(++this.turn)));
    on("run", "click", () => (this.running ? this.pause() : this.run()));
    on("undo", "click", () => this.undo());
    on("restart", "click", () => this.begin({}));
    on("swap", "click", () => this.swap());
    on("share", "click", () => this.share());
    on("ply", "input", (event) => this.step(Number(event.target.value)));
    for (const one of document.querySelectorAll("[data-step]")) {
      one.addEventListener("click", () => this.stepBy(one.dataset.step));
    }
    for (const id of ["show-thoughts", "show-exact", "show-review", "thinker"]) on(id, "change", () => this.look());
    on("load", "submit", (event) => {
      event.preventDefault();
      this.open({ ...this.state, moves: byId("load-moves").value.trim(), at: undefined, first: "", second: "" });
    });
  }

  // A new game, with whatever was chosen otherwise.
  begin(chosen) {
    return this.open({ ...this.state, ...chosen, moves: "", at: undefined, seed: newSeed(), first: "", second: "" });
  }

  // Another opponent or seat goes on with the game, unless it is over; another board begins a new one.
  // If both players are agents, they begin at once.
  async change(chosen) {
    await this.adopt(chosen);
    if (this.watched && !this.running) this.run();
  }

  adopt(chosen) {
    const goesOn = this.shown && !this.shown.over && this.line.ply && chosen.game === this.state.game;
    if (!goesOn) return this.begin(chosen);
    return this.open({ ...this.state, ...chosen, first: "", second: "" }, "The game goes on. ");
  }

  // Shows a game. Unless `at` says so, its last position, where the opponent answers if it is its turn.
  // `said` comes before what is said of the position.
  async open(state, said = "") {
    const turn = ++this.turn;
    this.said = said;
    const before = this.state;
    try {
      const game = state.game || "ConnectFour-v0";
      const line = await positionAfter(game, state.moves || "");
      const seat = ["second", WATCH].includes(state.seat) ? state.seat : "first";
      const { opponent, rival } = await this.setup.show({ game, opponent: state.opponent, rival: state.rival, seat });
      if (turn !== this.turn) return;
      const at = Math.min(Number(state.at ?? line.ply) || 0, line.ply);
      this.state = { ...state, view: "play", game, moves: line.moves, at, opponent, rival, seat, seed: state.seed ?? newSeed() };
      this.line = line;
      this.trouble("");
      this.fillThinkers();
      await this.show(turn);
      const waits = !this.shown.over && at === line.ply && !this.mayMove() && !this.watched;
      if (turn === this.turn && waits) this.answering = this.answer(turn);
    } catch (error) {
      if (turn !== this.turn) return;
      this.trouble(error.message);
      if (before.game) this.setup.show(before);
    }
  }

  async show(turn) {
    const { game, at } = this.state;
    const shown = await positionAfter(game, this.line.history[at]);
    if (turn !== this.turn) return;
    this.shown = shown;
    byId("retry").hidden = true;
    writeLink(this.linked());
    this.board.show(shown, { open: this.mayMove() });
    this.showSteps();
    this.say(this.inWords());
    this.look();
  }

  // The state for a link, in which the last position of a game has no number.
  linked() {
    return { ...this.state, at: this.state.at === this.line.ply ? null : this.state.at };
  }

  get mine() {
    return this.state.seat === "second" ? 1 : 0;
  }

  // Whether both players are agents, which move while the game runs.
  get watched() {
    return this.state.seat === WATCH && this.state.opponent !== NOBODY;
  }

  // The agent that plays that seat.
  player(seat) {
    return this.watched && seat ? this.state.rival : this.state.opponent;
  }

  // Shows move after move, and lets agents go on, until the game is over or somebody pauses.
  async run() {
    const run = (this.running = ++this.runs);
    this.showRun();
    while (run === this.running && this.goesOn()) {
      await new Promise((done) => setTimeout(done, Number(byId("speed").value)));
      if (run !== this.running || !this.goesOn()) break;
      if (this.state.at < this.line.ply) await this.step(this.state.at + 1);
      else await (this.answering = this.answer(++this.turn));
      if (!byId("retry").hidden) break;
    }
    if (run === this.running) this.pause();
  }

  pause() {
    this.running = 0;
    this.showRun();
  }

  goesOn() {
    return this.state.at < this.line.ply || (this.watched && !this.shown.over);
  }

  showRun() {
    byId("run").textContent = this.running ? "Pause" : "Play";
    byId("run").disabled = !this.running && !this.goesOn();
  }

  mayMove() {
    return !this.shown.over && !this.watched && (this.state.opponent === NOBODY || this.shown.seat === this.mine);
  }

  async answer(turn) {
    const { game, moves, seed } = this.state;
    const opponent = this.player(this.shown.seat);
    const began = performance.now();
    const name = this.nameOf(this.shown.seat);
    byId("retry").hidden = true;
    this.trouble("");
    this.say(`${name} is thinking…`);
    byId("board").classList.add("thinking");
    const first = !this.answered.has(`${game} ${opponent}`);
    const slow = later(() => turn === this.turn && first && this.say(`${name} is thinking… Its machine code may be compiling, once.`));
    try {
      const { position } = await post("/api/reply", { game, moves, opponent, seed: Number(seed) });
      this.answered.add(`${game} ${opponent}`);
      const rest = calm.matches ? 0 : 380 - (performance.now() - began);
      if (rest > 0) await new Promise((done) => setTimeout(done, rest));
      if (turn !== this.turn) return;
      const said = `${this.nameOf(1 - position.seat)} plays ${position.names[position.ply - 1]}. `;
      await this.open({ ...this.state, moves: keep(position).moves, at: undefined }, said);
    } catch (error) {
      if (turn !== this.turn) return;
      this.trouble(error.message);
      this.say(`${name} does not answer. Retry, or play its move yourself.`);
      byId("retry").hidden = false;
      this.board.show(this.shown, { open: true, notes: this.board.notes });
    } finally {
      clearTimeout(slow);
      byId("board").classList.remove("thinking");
    }
  }

  // Takes back moves until it is the visitor's turn, or to the start.
  async undo() {
    const { game, opponent, at } = this.state;
    if (!at) return this.say("There is nothing to take back.");
    let to = at - 1;
    while (opponent !== NOBODY && !this.watched && to > 0 && (await positionAfter(game, this.line.history[to])).seat !== this.mine) to -= 1;
    return this.open({ ...this.state, moves: this.line.history[to], at: undefined }, "Taken back. ");
  }

  swap() {
    if (this.watched) return this.open({ ...this.state, opponent: this.state.rival, rival: this.state.opponent });
    const seat = this.mine ? "first" : "second";
    return this.open({ ...this.state, moves: this.line.history[this.state.at], at: undefined, seat });
  }

  stepBy(how) {
    const { at } = this.state;
    return this.step({ first: 0, back: at - 1, on: at + 1, last: this.line.ply }[how]);
  }

  // Shows an earlier position of the game; nobody answers there.
  step(at) {
    if (at < 0 || at > this.line.ply) return;
    this.state.at = at;
    this.said = "";
    return this.show(++this.turn);
  }

  // Copies a link, without the token of a training, which is its owner's.
  async share() {
    const state = this.linked();
    const own = [state.opponent, state.rival].some((name) => String(name).startsWith("training:"));
    if (own) writeLink({ ...state, opponent: NOBODY, rival: null });
    const link = location.href;
    writeLink(state);
    try {
      await navigator.clipboard.writeText(link);
      this.say("The link is in the clipboard.");
    } catch {
      this.say(`The link: ${link}`);
    }
  }

  // What is shown with the board: notes on the moves, and the evaluation.
  async look() {
    const look = ++this.looks;
    const late = () => look !== this.looks;
    const [thoughts, exact, review] = ["thoughts", "exact", "review"].map((name) => byId(`show-${name}`).checked);
    const noted = !this.shown.over && (thoughts || exact);
    byId("thinker-row").hidden = !thoughts;
    if (!review) byId("review").hidden = true;
    const note = ({ notes, text }) => {
      if (late()) return;
      this.board.annotate(notes);
      byId("insight").textContent = text;
    };
    if (!noted) note({ notes: new Map(), text: "" });
    const chosen = byId("thinker").value;
    const thinker = chosen === "opponent" ? this.player(this.shown.seat) : chosen;
    try {
      const asked = { thoughts, exact, thinker, seed: Number(this.state.seed) };
      await Promise.all([
        noted && insightOf(this.shown, asked, note),
        review && showReview(byId("review"), this.line, this.state.at, (ply) => this.step(ply), late),
      ]);
    } catch (error) {
      if (!late()) byId("insight").textContent = error.message;
    }
  }

  fillThinkers() {
    const nobody = this.state.opponent === NOBODY;
    const select = byId("thinker");
    const chosen = select.value;
    this.setup.fill(select, chosen, nobody ? [] : [option("opponent", "the opponent's")]);
    select.value = has(select, chosen) ? chosen : nobody ? this.setup.offer.thinker || "mcts" : "opponent";
  }

  showSteps() {
    const { at } = this.state;
    const { ply, names } = this.line;
    const slider = byId("ply");
    slider.max = ply;
    slider.value = at;
    slider.setAttribute("aria-valuetext", `after ${at} of ${ply} moves`);
    byId("moves").textContent = names.map((name, i) => (i + 1 === at ? `[${name}]` : name)).join(" ");
    byId("undo").disabled = !at;
    this.showRun();
    for (const one of document.querySelectorAll("[data-step]")) {
      one.disabled = at === (["first", "back"].includes(one.dataset.step) ? 0 : ply);
    }
  }

  nameOf(seat) {
    const { first, second } = this.state;
    const opponent = this.player(seat);
    const named = seat ? second : first;
    if (named) return `${named === YOU ? "You" : named} (${SIDE[seat]})`;
    if (opponent === NOBODY) return seat ? "Yellow" : "Red";
    const shown = this.setup.named.find((one) => one.name === opponent);
    return shown ? shown.shown : opponent.replace(/^(file|league):/, "").replace(/^level:/, "Level ");
  }

  inWords() {
    const { winner, over, seat } = this.shown;
    const alone = this.state.opponent !== NOBODY && !this.watched;
    if (over && winner === null) return `${this.said}A draw: the board is full.`;
    if (over && alone) return this.said + (winner === this.mine ? "You win!" : "You lose.");
    const isYou = (one) => (one ? this.state.second : this.state.first) === YOU;
    if (over) return `${this.said}${this.nameOf(winner)} ${isYou(winner) ? "win" : "wins"}.`;
    if (alone && seat === this.mine) return `${this.said}Your move, you are ${SIDE[seat]}.`;
    return `${this.said}${this.nameOf(seat)} to move.`;
  }

  // Does what a key asks for once the keys before it are done, and a move once it is answered: no quick key is lost.
  press(action, isMove) {
    const ready = this.keys.then(() => isMove && this.answering);
    this.keys = ready.then(action).catch((error) => this.trouble(error.message));
  }

  say(text) {
    byId("status").textContent = text;
  }
}

// The form of the game: which board, against whom, in which seat; or which two agents play.
class Setup {
  // changed({game, opponent, rival, seat}) is called when the visitor chooses otherwise.
  constructor(form, { games, names = [], sizes = true }, changed) {
    this.changed = changed;
    this.named = names; // {name, shown} of opponents that are not shown by their names: the trainings of this visit
    this.any = sizes; // whether other sizes and other opponents than those listed can be played
    const other = (shown) => (sizes ? option(OTHER, shown) : null);
    this.game = el("select", { name: "game" }, games.map((one) => option(one.name, one.title)), other("another size"));
    const size = (name, value) => el("input", { name, type: "number", min: 1, max: 15, value, required: true });
    this.sizes = [size("rows", 5), size("cols", 6), size("connect", 4)];
    this.falls = el("input", { type: "checkbox", name: "falls", checked: true });
    this.sized = el("fieldset", { class: "sizes", hidden: true },
      el("legend", {}, "Size"),
      ["Rows", "Columns", "In a row"].map((shown, i) => el("label", {}, shown, this.sizes[i])),
      el("label", { class: "check" }, this.falls, "Stones fall"),
      el("button", { type: "submit" }, "Set up"),
    );
    this.other = () => other("another…");
    this.opponent = el("select", { name: "opponent" });
    const label = "Name of another opponent";
    this.typed = el("input", { name: "named", placeholder: "mcts:2000", maxlength: 96, "aria-label": label, hidden: true });
    this.seat = el("select", { name: "seat" }, option("first", "first (red cross)"));
    this.seat.append(option("second", "second (yellow ring)"), option(WATCH, "neither: watch"));
    this.rival = el("select", { name: "rival" });
    this.line = el("p", { class: "soft line-of" });
    this.rivalRow = el("label", { hidden: true }, "Second player", this.rival);
    form.append(
      el("label", {}, "Game", this.game),
      this.sized,
      el("label", {}, "Opponent", this.opponent),
      this.typed,
      el("label", {}, "You play", this.seat),
      this.rivalRow,
      this.line,
    );
    form.addEventListener("submit", (event) => event.preventDefault() || this.tell());
    this.game.addEventListener("change", () => {
      this.sized.hidden = this.game.value !== OTHER;
      if (this.sized.hidden) this.tell();
    });
    this.opponent.addEventListener("change", () => {
      this.typed.hidden = this.opponent.value !== OTHER;
      if (this.typed.hidden) this.tell();
      else this.typed.focus();
    });
    this.typed.addEventListener("change", () => this.typed.value.trim() && this.tell());
    for (const one of [this.seat, this.rival]) one.addEventListener("change", () => this.tell());
  }

  tell() {
    const opponent = this.opponent.value === OTHER ? this.typed.value.trim() : this.opponent.value;
    const [rows, cols, connect] = this.sizes.map((input) => input.value);
    const sized = `KInARow-v0:${rows}x${cols}-${connect}${this.falls.checked ? "" : ",gravity=False"}`;
    this.changed({ game: this.game.value === OTHER ? sized : this.game.value, opponent, rival: this.rival.value, seat: this.seat.value });
  }

  // Shows a state; the opponents offered are those of its game. Returns those to play, if it names none.
  async show({ game, opponent, rival, seat }) {
    if (this.offeredFor !== game || this.isUnknown(opponent)) this.offer = await get("/api/opponents", { game });
    this.offeredFor = game;
    await this.recall(opponent);
    this.fill(this.opponent, "", [option(NOBODY, "nobody: both sides are yours")]);
    this.opponent.append(this.other() || "");
    const chosen = opponent && (this.any || has(this.opponent, opponent)) ? opponent : this.offer.default;
    const known = has(this.opponent, chosen);
    this.opponent.value = known ? chosen : OTHER;
    this.line.textContent = LINES[chosen.split(":")[0]] || "";
    this.line.hidden = !this.line.textContent;
    this.typed.hidden = known;
    if (!known) this.typed.value = chosen;
    this.fill(this.rival, "", []);
    const second = rival && (this.any || has(this.rival, rival)) ? rival : this.offer.default;
    if (!has(this.rival, second)) this.rival.append(option(second, second));
    this.rival.value = second;
    this.rivalRow.hidden = seat !== WATCH || chosen === NOBODY;
    this.seat.value = seat;
    this.seat.disabled = chosen === NOBODY;
    this.sized.hidden = has(this.game, game) && game !== OTHER;
    this.game.value = this.sized.hidden ? game : OTHER;
    const sizes = SIZED.exec(game);
    if (sizes) this.sizes.forEach((input, i) => (input.value = sizes[i + 1]));
    if (sizes) this.falls.checked = !sizes[4];
    return { opponent: chosen, rival: seat === WATCH ? second : null };
  }

  // An agent that was kept since the menu was made.
  isUnknown(name) {
    return String(name).startsWith("league:") && !this.offer?.league?.some((one) => one.name === name);
  }

  // After a reload: how the training of a link is called. One that is forgotten keeps its token, and the server refuses it.
  async recall(name) {
    const token = /^training:(.+)/.exec(name)?.[1];
    if (!token || this.named.some((one) => one.name === name)) return;
    const found = await post("/api/training/look", { token, since: 500 }).catch(() => null);
    if (found) this.named.push({ name, shown: trainedName(found) });
  }

  // Fills a menu with the opponents of a game, in groups.
  fill(select, chosen, first) {
    const { opponents, league = [], files } = this.offer;
    const isLevel = (one) => one.name.startsWith("level:");
    const groups = {
      "Trained here": this.named.filter((one) => one.name.startsWith("training:")),
      League: league,
      Levels: opponents.filter(isLevel),
      Policies: opponents.filter((one) => !isLevel(one)),
      Checkpoints: files,
    };
    const shown = Object.entries(groups).filter(([, offers]) => offers.length);
    const options = (offers) => offers.map((one) => option(one.name, one.shown, chosen));
    select.replaceChildren(...first, ...shown.map(([label, offers]) => el("optgroup", { label }, options(offers))));
  }
}
