// Dark or light: the system's choice, until the switch says otherwise.

import { byId } from "./dom.js";

const KEY = "tictac-theme";

function kept() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // storage is switched off
  }
}

export function startTheme() {
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (kept() ? kept() === "dark" : system.matches);
  const show = () => {
    document.documentElement.dataset.theme = isDark() ? "dark" : "light";
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Switch to light colours" : "Switch to dark colours");
  };
  button.addEventListener("click", () => {
    const chosen = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = chosen;
    try {
      localStorage.setItem(KEY, chosen);
    } catch {
      return;
    }
    show();
  });
  system.addEventListener("change", show);
  show();
}
