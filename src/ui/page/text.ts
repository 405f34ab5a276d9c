// Words of the page. Every name comes from a recorded program and may be hostile: it only
// ever becomes a text node, what turns the reading direction or cannot be seen is written
// out, and its length is bounded.

const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const NAME_MOST = 60;

export function visible(text: string): string {
	return text.replace(HIDDEN, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
}

export function brief(text: string, most = NAME_MOST): string {
	const shown = visible(text);
	return shown.length > most ? shown.slice(0, most - 1) + '…' : shown;
}

// As the answer's sentences write it: cut, not rounded.
export function duration(ns: number): string {
	const size = Math.abs(ns);
	const cut = (unit: number, digits: number) => (Math.trunc(ns / unit * 10 ** digits) / 10 ** digits).toFixed(digits);
	return size >= 1e9 ? cut(1e9, 3) + ' s' : size >= 1e6 ? cut(1e6, 1) + ' ms' : cut(1e3, 0) + ' µs';
}

// A place on the axis, as fine as `step` asks for.
export function tick(ns: number, step: number): string {
	const [unit, size] = step >= 1e8 ? ['s', 1e9] : step >= 1e5 ? ['ms', 1e6] : ['µs', 1e3];
	const digits = Math.max(0, Math.min(3, Math.ceil(-Math.log10(step / (size as number)) - 1e-9)));
	return (ns / (size as number)).toFixed(digits) + ' ' + unit;
}

export function wallClock(ns: number): string {
	if (!ns)
		return '';
	const date = new Date(ns / 1e6);
	const two = (n: number, width = 2) => String(n).padStart(width, '0');
	return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
		`${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${two(date.getMilliseconds(), 3)}`;
}

export function count(n: number): string {
	return n.toLocaleString('en-US');
}

export function bytes(n: number): string {
	return n >= 1e6 ? (n / 1e6).toFixed(1) + ' MB' : Math.ceil(n / 1e3) + ' kB';
}

// A part of the answer's text: plain, somebody who has a part, or an event.
export interface Piece { text: string; lane?: number; event?: number }

// The sentences, each in pieces. Who is mentioned is known by the engine's own words, so
// a full stop or a bracket in a name parts nothing.
export function sentences(text: string, mentions: { says: string; lane: number[] }[]): Piece[][] {
	const known = [...mentions].sort((a, b) => b.says.length - a.says.length);
	const found: Piece[][] = [[]];
	let plain = '';
	const flush = () => {
		if (plain)
			found[found.length - 1].push({ text: plain });
		plain = '';
	};
	for (let at = 0; at < text.length;) {
		const who = known.find((mention) => mention.says && text.startsWith(mention.says, at));
		const event = /^event (\d+)(?!\d| there)/.exec(text.slice(at, at + 40));   // there: of the other trace
		if (who) {
			flush();
			found[found.length - 1].push({ text: who.says, lane: who.lane[0] });
			at += who.says.length;
		} else if (event) {
			flush();
			found[found.length - 1].push({ text: event[0], event: Number(event[1]) });
			at += event[0].length;
		} else if (text.startsWith('. ', at)) {
			plain += '.';
			flush();
			found.push([]);
			at += 2;
		} else {
			plain += text[at++];
		}
	}
	flush();
	return found;
}

type Child = Node | string | null | false;

// An element; texts become text nodes.
export function el(tag: string, attributes: Record<string, string> = {}, ...children: Child[]): HTMLElement {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes))
		element.setAttribute(name, value);
	fill(element, ...children);
	return element;
}

export function fill(element: HTMLElement, ...children: Child[]): void {
	element.replaceChildren(...children.filter((child): child is Node | string => !!child));
}

// A foreign name: isolated, so that it turns nothing around it, its whole form as a hint.
export function name(text: string, most = NAME_MOST, style = 'name'): HTMLElement {
	const shown = brief(text, most);
	const element = el('bdi', { class: style, dir: 'ltr' }, shown);
	if (shown !== text)
		element.title = visible(text).slice(0, 500);
	return element;
}
