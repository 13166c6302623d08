// The view in which agents are trained: the form, progress and curve, a game walked through, and on to playing it.

import { get, post } from "./api.js";
import { drawCurves } from "./curve.js";
import { el } from "./dom.js";
import { keep, kept } from "./kept.js";
import { LessonView } from "./lesson.js";
import { linkTo, newSeed } from "./link.js";
import { Plan } from "./plan.js";

const EVERY = 500; // milliseconds between two looks
const KEY = "training"; // under which the token outlives a reload

export function startTraining(root, about, table, trouble) {
  let view = null;
  return async () => {
    if (!view) {
      view = new Training(root, about, await get("/api/training/menu"), table, trouble);
      view.goOn();
    }
    document.title = "Train · tictac";
  };
}

class Training {
  constructor(root, about, menu, table, trouble) {
    this.table = table;
    this.trouble = trouble;
    this.token = null;
    this.plan = new Plan(menu, about.games);
    this.begin = el("button", { type: "submit", class: "main" }, "Train");
    this.stop = el("button", { type: "button", disabled: true, onclick: () => this.end() }, "Stop");
    this.play = el("button", { type: "button", disabled: true, onclick: () => this.playIt() }, "Play what was trained");
    this.progress = el("progress", { max: 1, value: 0, "aria-label": "Progress of the training" });
    this.status = el("p", { class: "status left", role: "status" }, "Choose an agent and train it. With 50 games it can still be beaten.");
    this.truth = el("p", {});
    this.curves = el("div", { class: "curves" });
    this.lesson = new LessonView();
    const form = el("form", { class: "form", onsubmit: (event) => event.preventDefault() || this.start() }, this.plan.element, el("div", { class: "buttons" }, this.begin, this.stop));
    root.append(
      el("div", { class: "two" },
        el("section", { class: "card", "aria-label": "What to train" }, el("h2", {}, "Train an agent"), form),
        el("div", {},
          el("section", { class: "card", "aria-label": "How the training goes" }, this.status, this.progress, this.truth, this.curves, el("div", { class: "buttons" }, this.play)),
          this.lesson.element,
        ),
      ),
    );
  }

  async start() {
    this.trouble("");
    this.begin.disabled = true;
    try {
      const plan = this.plan.chosen();
      const { token } = await post("/api/training/begin", plan);
      keep(KEY, token, true);
      this.status.textContent = "The training begins…";
      await this.follow(token, plan.game);
    } catch (error) {
      this.trouble(error.message);
    } finally {
      this.begin.disabled = false;
      this.stop.disabled = true;
    }
  }

  // After a reload: the training that was begun in this tab, as long as the server knows it.
  async goOn() {
    const token = kept(KEY, true);
    if (!token) return;
    this.begin.disabled = true;
    try {
      const { plan } = await post("/api/training/look", { token });
      await this.follow(token, plan.game);
    } catch (error) {
      if (error.status === 404) keep(KEY, null, true);
      else this.trouble(error.message);
    } finally {
      this.begin.disabled = false;
      this.stop.disabled = true;
    }
  }

  async follow(token, game) {
    Object.assign(this, { token, game, rows: [] });
    this.lesson.clear(game, token);
    this.play.disabled = true;
    this.curves.replaceChildren();
    this.truth.replaceChildren();
    this.stop.disabled = false;
    await this.watch(token);
  }

  async watch(token) {
    for (;;) {
      const told = await post("/api/training/look", { token, since: this.rows.length });
      this.show(told);
      if (told.state !== "running") return;
      await new Promise((done) => setTimeout(done, EVERY));
    }
  }

  show(told) {
    this.rows.push(...told.rows);
    this.progress.max = told.total;
    this.progress.value = told.done;
    const done = `${told.done.toLocaleString("en")} of ${told.total.toLocaleString("en")} ${told.unit}`;
    const ended = { running: "", done: "The training is over: ", stopped: "Stopped: ", proven: "The training is over: ", failed: "" }[told.state];
    this.status.textContent = told.state === "failed" ? `The training failed: ${told.reason}` : `${ended}${done}.`;
    if (told.rows.length) {
      drawCurves(this.curves, this.rows, told.total, told.unit);
      this.truth.replaceChildren(...this.truthInWords(this.rows.at(-1), told.plan));
    }
    this.lesson.offer(told.lessons, told.unit);
    this.play.disabled = !told.saved;
    this.play.classList.toggle("main", told.saved && told.state !== "running");
    this.trained = { name: `training:${this.token}`, shown: `${told.plan.agent}, ${told.done.toLocaleString("en")} ${told.unit}` };
  }

  truthInWords(row, plan) {
    if (!row.exact) return ["On so large a game 100 games against random play judge it; there is no exact verdict while it learns."];
    if (row.infallible) return [el("strong", { class: "good" }, "✓ Provably infallible: "), "every reply to it was walked, and none beats it, from either seat."];
    const lines = [["first", row.beaten_first], ["second", row.beaten_second]].filter(([, line]) => line !== null);
    const links = lines.map(([seat, moves]) => {
      const names = seat === "first" ? `first=${plan.agent}&second=you` : `first=you&second=${plan.agent}`;
      return el("a", { href: `#view=play&game=${plan.game}&moves=${moves}&at=0&opponent=nobody&${names}` }, `as ${seat} player by ${moves}`);
    });
    return [el("strong", { class: "bad" }, "✗ It can be beaten: "), ...links.flatMap((link, i) => (i ? [", ", link] : [link])), "."];
  }

  async end() {
    this.stop.disabled = true;
    try {
      await post("/api/training/stop", { token: this.token });
    } catch (error) {
      this.trouble(error.message);
    }
  }

  playIt() {
    const { setup } = this.table;
    setup.trained = [...setup.trained.filter((one) => one.name !== this.trained.name), this.trained];
    location.hash = linkTo({ view: "play", game: this.game, opponent: this.trained.name, seat: "first", seed: newSeed() });
  }
}

