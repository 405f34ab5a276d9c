// Colours of the canvas. They only help: each state has a shape of its own, so that the
// picture reads the same without them, and on paper.

export interface Palette {
	paper: string; ink: string; dim: string; faint: string; rule: string; run: string; queue: string; queueBack: string;
	wait: string; stopped: string; chain: string; other: string; veil: string; focus: string; band: string;
}

const LIGHT: Palette = {
	paper: '#ffffff', ink: '#1b1d20', dim: '#5f666d', faint: '#a4abb2', rule: '#e4e6e8', run: '#2f6fa8', queue: '#b26b00',
	queueBack: '#fbe6c4', wait: '#b4bbc2', stopped: '#5b4a7d', chain: '#c8401a', other: '#6a3fb5', veil: 'rgba(246,247,248,0.82)',
	focus: '#1b1d20', band: '#fafbfb',
};
const DARK: Palette = {
	paper: '#17191c', ink: '#e8eaec', dim: '#9aa1a8', faint: '#656c74', rule: '#2b2f34', run: '#5b9fd8', queue: '#e0a340',
	queueBack: '#4a3714', wait: '#4d545c', stopped: '#a995d6', chain: '#ff7a4d', other: '#b18cff', veil: 'rgba(17,19,21,0.8)',
	focus: '#ffffff', band: '#1b1e21',
};

const dark = window.matchMedia('(prefers-color-scheme: dark)');

export function isDark(): boolean {
	const chosen = document.documentElement.dataset.theme;
	return chosen ? chosen === 'dark' : dark.matches;
}

export function palette(printing: boolean): Palette {
	return isDark() && !printing ? DARK : LIGHT;
}

export function onThemeChange(call: () => void): void {
	dark.addEventListener('change', call);
}
