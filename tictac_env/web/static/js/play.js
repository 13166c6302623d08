// The game on the board: moves and answers, steps back and on, and what is shown beside it.

import { keep, positionAfter, post } from "./api.js";
import { Board } from "./board.js";
import { byId, option } from "./dom.js";
import { insightOf } from "./insight.js";
import { NOBODY, newSeed, sharedLink, writeLink } from "./link.js";
import { showReview } from "./review.js";
import { fillOpponents, Setup } from "./setup.js";

const SIDE = ["red", "yellow"];
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class Table {
  constructor(about, trouble) {
    this.trouble = trouble; // shows an error, or nothing
    this.said = "";
    this.turn = 0; // changes with every change of the game, so that late answers are dropped
    this.looks = 0; // changes with every look inside, for the same reason
    this.state = {};
    this.board = new Board(byId("board"), { play: (move) => this.move(move), illegal: (text) => this.say(text) });
    this.setup = new Setup(byId("setup"), about.games, (chosen) => this.begin(chosen));
    byId("undo").addEventListener("click", () => this.undo());
    byId("restart").addEventListener("click", () => this.begin({}));
    byId("swap").addEventListener("click", () => this.swap());
    byId("share").addEventListener("click", () => this.share());
    byId("ply").addEventListener("input", (event) => this.step(Number(event.target.value)));
    for (const button of document.querySelectorAll("[data-step]")) {
      button.addEventListener("click", () => this.stepBy(button.dataset.step));
    }
    for (const id of ["show-thoughts", "show-exact", "show-review", "thinker"]) {
      byId(id).addEventListener("change", () => this.look());
    }
    byId("load").addEventListener("submit", (event) => {
      event.preventDefault();
      this.open({ ...this.state, moves: byId("load-moves").value.trim(), at: undefined, first: "", second: "" });
    });
  }

  visible() {
    return !byId("play").hidden;
  }

  // A new game, with whatever was chosen otherwise.
  begin(chosen) {
    return this.open({ ...this.state, ...chosen, moves: "", at: undefined, seed: newSeed(), first: "", second: "" });
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
      const seat = state.seat === "second" ? "second" : "first";
      const opponent = await this.setup.show({ game, opponent: state.opponent, seat });
      if (turn !== this.turn) return;
      const at = Math.min(Number(state.at ?? line.ply) || 0, line.ply);
      this.state = { ...state, view: "play", game, moves: line.moves, at, opponent, seat, seed: state.seed ?? newSeed() };
      this.trouble("");
      this.fillThinkers();
      await this.show(line, turn);
    } catch (error) {
      if (turn !== this.turn) return;
      this.trouble(error.message);
      if (before.game) this.setup.show(before);
    }
  }

  async show(line, turn) {
    this.line = line;
    const { game, at } = this.state;
    const shown = at === line.ply ? line : await positionAfter(game, line.history[at]);
    if (turn !== this.turn) return;
    this.shown = shown;
    writeLink({ ...this.state, at: at === line.ply ? null : at });
    this.board.show(shown, { open: this.mayMove() });
    this.showSteps();
    this.say(this.inWords());
    this.look();
    if (!shown.over && at === line.ply && !this.mayMove()) await this.answer(turn);
  }

  mayMove() {
    const { opponent, seat } = this.state;
    return !this.shown.over && (opponent === NOBODY || this.shown.seat === (seat === "second" ? 1 : 0));
  }

  move(move) {
    this.open({ ...this.state, moves: move.then, at: undefined });
  }

  async answer(turn) {
    const { game, moves, opponent, seed } = this.state;
    const began = performance.now();
    this.say(`${this.nameOf(this.shown.seat)} is thinking…`);
    byId("board").classList.add("thinking");
    try {
      const { position } = await post("/api/reply", { game, moves, opponent, seed: Number(seed) });
      const rest = calm.matches ? 0 : 380 - (performance.now() - began);
      if (rest > 0) await pause(rest);
      if (turn !== this.turn) return;
      const said = `${this.nameOf(1 - position.seat)} plays ${position.names[position.ply - 1]}. `;
      await this.open({ ...this.state, moves: keep(position).moves, at: undefined }, said);
    } catch (error) {
      if (turn === this.turn) {
        this.trouble(error.message);
        this.say(`${this.nameOf(this.shown.seat)} does not answer.`);
      }
    } finally {
      byId("board").classList.remove("thinking");
    }
  }

  // Takes back moves until it is the visitor's turn, or to the start.
  async undo() {
    const { game, opponent, seat, at } = this.state;
    if (!at) return this.say("There is nothing to take back.");
    let to = at - 1;
    if (opponent !== NOBODY) {
      const mine = seat === "second" ? 1 : 0;
      while (to > 0 && (await positionAfter(game, this.line.history[to])).seat !== mine) to -= 1;
    }
    return this.open({ ...this.state, moves: this.line.history[to], at: undefined }, "Taken back. ");
  }

  swap() {
    const seat = this.state.seat === "second" ? "first" : "second";
    return this.open({ ...this.state, moves: this.line.history[this.state.at], at: undefined, seat });
  }

  stepBy(how) {
    const { at } = this.state;
    return this.step({ first: 0, back: at - 1, on: at + 1, last: this.line.ply }[how]);
  }

  step(at) {
    if (at >= 0 && at <= this.line.ply) this.lookAt(at);
  }

  // Shows an earlier position of the game; nobody answers there.
  async lookAt(at) {
    const turn = ++this.turn;
    this.state.at = at;
    this.said = "";
    const { game } = this.state;
    const shown = await positionAfter(game, this.line.history[at]);
    if (turn !== this.turn) return;
    this.shown = shown;
    writeLink({ ...this.state, at: at === this.line.ply ? null : at });
    this.board.show(shown, { open: this.mayMove() });
    this.showSteps();
    this.say(this.inWords());
    this.look();
  }

  async share() {
    const link = sharedLink({ ...this.state, at: this.state.at === this.line.ply ? null : this.state.at });
    try {
      await navigator.clipboard.writeText(link);
      this.say("The link is in the clipboard.");
    } catch {
      this.say(`The link: ${link}`);
    }
  }

  // What is shown beside the board: notes on the moves, and the evaluation.
  async look() {
    const look = ++this.looks;
    const late = () => look !== this.looks;
    const { opponent, seed, at } = this.state;
    const [thoughts, exact] = [byId("show-thoughts").checked, byId("show-exact").checked];
    byId("thinker-row").hidden = !thoughts;
    if (!byId("show-review").checked) byId("review").hidden = true;
    if (this.shown.over || !(thoughts || exact)) {
      this.board.annotate(new Map());
      byId("insight").textContent = "";
    }
    try {
      const looks = [];
      if (!this.shown.over && (thoughts || exact)) {
        const chosen = byId("thinker").value;
        const thinker = chosen === "opponent" ? opponent : chosen;
        looks.push(
          insightOf(this.shown, { thoughts, exact, thinker, seed: Number(seed) }).then(({ notes, text }) => {
            if (late()) return;
            this.board.annotate(notes);
            byId("insight").textContent = text;
          }),
        );
      }
      if (byId("show-review").checked) looks.push(showReview(byId("review"), this.line, at, (ply) => this.step(ply), late));
      await Promise.all(looks);
    } catch (error) {
      if (!late()) byId("insight").textContent = error.message;
    }
  }

  fillThinkers() {
    const nobody = this.state.opponent === NOBODY;
    const select = byId("thinker");
    const chosen = select.value;
    fillOpponents(select, this.setup.offer, this.setup.trained, chosen, nobody ? [] : [option("opponent", "the opponent's")]);
    const known = [...select.options].some((one) => one.value === chosen);
    select.value = known ? chosen : nobody ? this.setup.offer.thinker || "mcts" : "opponent";
  }

  showSteps() {
    const { at } = this.state;
    const slider = byId("ply");
    slider.max = this.line.ply;
    slider.value = at;
    slider.setAttribute("aria-valuetext", `after ${at} of ${this.line.ply} moves`);
    byId("moves").textContent = this.line.names.map((name, ply) => (ply + 1 === at ? `[${name}]` : name)).join(" ");
    byId("undo").disabled = !at;
    for (const [step, off] of [["first", !at], ["back", !at], ["on", at === this.line.ply], ["last", at === this.line.ply]]) {
      document.querySelector(`[data-step=${step}]`).disabled = off;
    }
  }

  nameOf(seat) {
    const { opponent, first, second } = this.state;
    const named = seat ? second : first;
    if (named) return `${named} (${SIDE[seat]})`;
    if (opponent === NOBODY) return seat ? "Yellow" : "Red";
    const shown = this.setup.trained.find((one) => one.name === opponent);
    return shown ? shown.shown : opponent.replace(/^file:/, "");
  }

  inWords() {
    const said = this.said;
    const { winner, over, seat } = this.shown;
    const mine = this.state.seat === "second" ? 1 : 0;
    const alone = this.state.opponent !== NOBODY;
    if (over && winner === null) return `${said}A draw: the board is full.`;
    if (over) return said + (alone ? (winner === mine ? "You win!" : "You lose.") : `${this.nameOf(winner)} wins.`);
    if (!alone) return `${said}${this.nameOf(seat)} to move.`;
    return seat === mine ? `${said}Your move, you are ${SIDE[mine]}.` : `${said}${this.nameOf(seat)} to move.`;
  }

  say(text) {
    byId("status").textContent = text;
  }
}
