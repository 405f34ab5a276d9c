// The recorder in the background: how it does, the hangs that it saved, and who is stuck right
// now. It shows what `argus status` and `argus now` say.

import { Actor, Answer } from './data';
import { brief, bytes, count, duration, el, fill, name, visible, wallClock } from './text';

interface Status { state: string; level: string; folder: string; since: number; events: number; lost: number; ring_files: number; ring_bytes: number; ring_limit: number;
	cpu_us: number; hangs_seen: number; hangs_saved: number; last_hang: string; last_failure: string; interruptions: number }
interface Recorder { status: Status | null; error: string | null; saved: { name: string; path: string; bytes: number; time: number }[] }
interface Stuck extends Actor { stuck: boolean; reason: string; since_ns: number; since_wall_ns: number; exactly: boolean; answer: Answer | null }
interface Now { now: { seen_by: string; threads: Stuck[] } | null; error: string | null }

export class RecorderView {
	readonly element = el('main', { class: 'recorder' });
	private status = el('section', {});
	private stuck = el('section', { 'aria-live': 'polite' });

	constructor() {
		const look = el('button', { type: 'button', class: 'quiet action', id: 'look-now' }, 'who is stuck right now?');
		look.addEventListener('click', () => void this.look());
		fill(this.element, el('h1', {}, 'The recorder in the background'), this.status, el('p', { class: 'actions' }, look), this.stuck);
		void this.show();
	}

	private async show(): Promise<void> {
		const found = await (await fetch('recorder')).json() as Recorder, status = found.status;
		const rows: [string, string][] = status ? [
			['state', status.state], ['level', status.level], ['since', wallClock(status.since * 1e9)], ['ring', status.folder],
			['size', `${status.ring_files} files, ${bytes(status.ring_bytes)} of ${bytes(status.ring_limit)}`],
			['events', `${count(status.events)}, ${count(status.lost)} lost`], ['cost', duration(status.cpu_us * 1000) + ' of a processor'],
			['hangs', `${status.hangs_seen ?? 0} seen, ${status.hangs_saved ?? 0} saved` + (status.last_hang ? `; last: ${status.last_hang}` : '')],
			...(status.interruptions ? [['interrupted', `${status.interruptions} times, last: ${status.last_failure}`] as [string, string]] : []),
		] : [];
		fill(this.status,
			status ? el('dl', {}, ...rows.flatMap(([term, value]) => [el('dt', {}, term), el('dd', {}, brief(value, 300))])) : el('p', { class: 'text' }, visible(found.error ?? 'It does not run.')),
			status ? el('h2', {}, found.saved.length ? `${found.saved.length} saved hang${found.saved.length > 1 ? 's' : ''}` : 'No hang was saved') : null,
			found.saved.length ? el('table', { class: 'hangs' }, el('thead', {}, el('tr', {}, ...['saved', 'size', 'look at it with'].map((words) => el('th', {}, words)))),
				el('tbody', {}, ...found.saved.map((saved) => el('tr', {}, el('td', {}, wallClock(saved.time * 1e9)), el('td', { class: 'number' }, bytes(saved.bytes)),
					el('td', {}, el('code', {}, 'argus serve ', visible(saved.path))))))) : null);
		document.documentElement.dataset.recorder = status ? 'runs' : 'none';
	}

	// It takes some seconds, in which the server answers nobody else.
	private async look(): Promise<void> {
		fill(this.stuck, el('p', { class: 'dim' }, 'looking …'));
		const found = await (await fetch('now', { method: 'POST' })).json() as Now, threads = found.now?.threads ?? [];
		fill(this.stuck, !found.now ? el('p', { class: 'text' }, visible(found.error ?? '')) : !threads.length ? el('p', { class: 'text' }, 'Nobody is stuck.') :
			el('table', { class: 'hangs' }, el('thead', {}, el('tr', {}, ...['who', 'since', 'why it counts', 'what the answer is'].map((words) => el('th', {}, words)))),
				el('tbody', {}, ...threads.map((one) => el('tr', {}, el('td', {}, name(one.comm, 40), ' ', el('span', { class: 'id' }, String(one.tid))),
					el('td', {}, wallClock(one.since_wall_ns)), el('td', {}, brief(one.reason ?? '', 160)), el('td', {}, brief(one.answer?.text ?? '', 600)))))));
		document.documentElement.dataset.now = found.now ? 'told' : 'failed';
	}
}
