// What the pointer or the keyboard is at: who, in which state, for how long, on what, and
// the stack. Without either it tells of the culprit.

import { Lane, Picture, State, cellAt, upper } from './data';
import { Spot } from './timeline';
import { brief, duration, el, fill, name } from './text';

const WORDS: Record<State, string> = {
	[State.unknown]: 'not seen', [State.running]: 'running', [State.runnable]: 'could run, has no processor',
	[State.waiting]: 'waiting', [State.stopped]: 'stopped', [State.absent]: 'not there: before its creation or after its end',
	[State.throttled]: 'throttled: its control group’s processor quota is used up', [State.mixed]: 'many short states',
};

export function stackList(frames: string[], label: string): HTMLElement {
	return el('div', { class: 'stack' }, el('h4', {}, label),
		el('ol', {}, ...frames.map((frame) => {
			const [, call, module] = /^(.*?)(?: \(([^()]*)\))?$/.exec(frame) ?? [frame, frame];
			return el('li', {}, name(call ?? frame, 70, 'function'), module ? ' ' : null, module ? name(module, 40, 'module') : null);
		})));
}

// Of a running thread, the sample in the cell that was taken most often.
function sampledStack(lane: Lane, start: number, end: number): number {
	const counts = new Map<number, number>();
	for (let i = upper(lane.sampleAt, start - 1); i < lane.sampleAt.length && lane.sampleAt[i] <= end; i++)
		if (lane.sampleStack[i])
			counts.set(lane.sampleStack[i], (counts.get(lane.sampleStack[i]) ?? 0) + 1);
	return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? 0;
}

export function showSpot(box: HTMLElement, picture: Picture, zero: number, spot: Spot, live = false): void {
	const lane = picture.lanes[spot.lane], cell = lane.cells[spot.cell];
	const ran = cell.state === State.running || cell.state === State.mixed;
	const stack = cell.stack || (ran ? sampledStack(lane, cell.start, cell.end) : 0);
	const waker = picture.lanes.find((other) => other.tid === cell.waker);
	const what = cell.state === State.waiting && cell.what ? cell.what : WORDS[cell.state];
	fill(box,
		el('h3', {}, name(lane.comm, 40), ' ', el('span', { class: 'id' }, lane.tid === lane.pid ? `pid ${lane.pid}` : `thread ${lane.tid} of ${lane.pid}`)),
		el('p', { class: 'doing' }, el('strong', {}, duration(cell.end - cell.start)), ' ', brief(what, 160)),
		el('p', { class: 'when' }, `from ${duration(cell.start - zero)} to ${duration(cell.end - zero)}` + (cell.event ? `, event ${cell.event}` : '')),
		live ? el('p', {}, el('a', { href: `#node=${lane.tid}@${picture.from + cell.end}` }, 'step from here')) : null,
		cell.state === State.mixed
			? el('p', {}, `${cell.running} % running, ${cell.runnable} % without a processor, ${100 - cell.running - cell.runnable - cell.unknown} % waiting`)
			: null,
		cell.endEvent
			? el('p', {}, 'Ended by ', waker ? name(waker.comm, 40) : cell.waker ? 'thread' : null,
				cell.waker ? ` ${cell.waker} (event ${cell.endEvent})` : `event ${cell.endEvent}`)
			: null,
		stack ? stackList(picture.stack(stack), ran ? 'sampled most often' : 'waits in') : el('p', { class: 'none' }, 'no stack here'));
}

// Before anything is pointed at: the longest link of the chain that is the culprit's.
export function showFrames(box: HTMLElement, who: string, id: string, doing: string, long: number, frames: string[]): void {
	fill(box,
		el('h3', {}, name(who, 40), ' ', el('span', { class: 'id' }, id)),
		el('p', { class: 'doing' }, el('strong', {}, duration(long)), ' ', brief(doing, 160)),
		frames.length ? stackList(frames, 'in') : el('p', { class: 'none' }, 'no stack here'));
}

export function spotAt(picture: Picture, lane: number, at: number): Spot | null {
	const cell = cellAt(picture.lanes[lane], at);
	return cell < 0 ? null : { lane, cell };
}
