/** Light, dark, or as the system has it. The choice is kept in this browser. */
export type Theme = 'light' | 'dark' | 'system';

const KEY = 'holdfast-theme';

export function currentTheme(): Theme {
  const saved = localStorage.getItem(KEY);
  return saved === 'light' || saved === 'dark' ? saved : 'system';
}

export function setTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  applyTheme();
}

export function applyTheme(): void {
  const theme = currentTheme();
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
