// What the browser keeps of this page; nothing where its storage is switched off.

function storage(tabOnly) {
  try {
    return tabOnly ? sessionStorage : localStorage;
  } catch {
    return null;
  }
}

// tabOnly: for this tab, until it is closed. A value of null forgets.
export function keep(key, value, tabOnly = false) {
  try {
    if (value === null) storage(tabOnly)?.removeItem(`tictac-${key}`);
    else storage(tabOnly)?.setItem(`tictac-${key}`, value);
  } catch {
    return; // it is full, or refuses
  }
}

export function kept(key, tabOnly = false) {
  return storage(tabOnly)?.getItem(`tictac-${key}`) ?? null;
}
