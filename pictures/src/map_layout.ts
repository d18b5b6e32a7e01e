// Where things are on the cluster map: clients left, brokers on an ellipse, the controller right; ways between cards.

import type { RunNode } from "./payload";

export type Point = readonly [x: number, y: number];
export interface Way {
	x1: number;
	y1: number;
	x2: number;
	y2: number;
}
// By node: the centre of its card and half its size; the height of a letter.
export interface Layout {
	readonly at: Record<string, Point>;
	readonly half: Record<string, Point>;
	readonly u: number;
}

// By node: the centre of its card as parts of the map.
export function placesOf(nodes: RunNode[]): Record<string, Point> {
	const clients = nodes.filter((n) => n.kind === "client"),
		brokers = nodes.filter((n) => n.kind === "broker"),
		angles = brokers.map((_, i) => (2 * Math.PI * i) / brokers.length - Math.PI / 2),
		heights = angles.map(Math.sin),
		low = Math.min(...heights),
		high = Math.max(...heights);
	const left = clients.map(({ id }, i) => [id, [0.09, (i + 0.5) / clients.length]] as const),
		middle = brokers.map(({ id }, i) => {
			const x = brokers.length > 1 ? 0.56 + 0.27 * Math.cos(angles[i]) : 0.56,
				y = high > low ? 0.17 + (0.66 * (heights[i] - low)) / (high - low) : 0.5;
			return [id, [x, y]] as const;
		}),
		right = nodes.filter((n) => n.kind === "controller").map(({ id }) => [id, [0.91, 0.15]] as const);
	return Object.fromEntries([...left, ...middle, ...right]);
}

// Where a way from one card's centre to another's leaves the first card (its half size: w, h).
function leave([x1, y1]: Point, [x2, y2]: Point, [w, h]: Point): Point {
	const dx = x2 - x1,
		dy = y2 - y1,
		t = Math.min((w + 4) / Math.abs(dx || 1e-9), (h + 4) / Math.abs(dy || 1e-9), 0.5);
	return [x1 + dx * t, y1 + dy * t];
}

// A frame's way: where it is drawn from and to, a little to the right of the straight line, so that answers have
// their own.
export function wayOf({ at, half, u }: Layout, from: string, to: string): Way {
	const [ax, ay] = leave(at[from], at[to], half[from]),
		[bx, by] = leave(at[to], at[from], half[to]),
		length = Math.hypot(bx - ax, by - ay) || 1,
		side = u * 0.75;
	const [dx, dy] = [(-(by - ay) / length) * side, ((bx - ax) / length) * side];
	return { x1: ax + dx, y1: ay + dy, x2: bx + dx, y2: by + dy };
}

export const angleOf = ({ x1, y1, x2, y2 }: Way) => (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
export const pointOf = ({ x1, y1, x2, y2 }: Way, t: number): Point => [x1 + (x2 - x1) * t, y1 + (y2 - y1) * t];

const ALONG = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8];

// Where the lines of a label stand beside a way: in its middle, on the side wanted; elsewhere if a card or one of the
// way's envelopes is there.
export function labelPlace({ at, half, u }: Layout, way: Way, lines: string[], envelopes: Point[] = []): Point {
	const { x1, y1, x2, y2 } = way,
		down = y2 - y1 > Math.abs(x2 - x1) * 0.3 || x2 < x1,
		high = (lines.length - 1) * u * 1.05,
		[w, h] = [Math.max(...lines.map((line) => line.length)) * u * 0.34, high / 2 + u * 0.5];
	const placeAt = (t: number, below: boolean): Point => {
		const [x, y] = pointOf(way, t);
		return [x, y + (below ? u * 1.7 : -u * 0.9 - high)];
	};
	const isApart = ([x, y]: Point, [cx, cy]: Point, [wide, tall]: Point) =>
		Math.abs(x - cx) > wide + w || Math.abs(y - u * 0.3 + high / 2 - cy) > tall + h;
	const free = (place: Point) =>
		Object.keys(at).every((id) => isApart(place, at[id], half[id])) &&
		envelopes.every((one) => isApart(place, one, [u * 0.6, u * 0.5]));
	const places = ALONG.flatMap((t) => [placeAt(t, down), placeAt(t, !down)]);
	return places.find(free) ?? places[0];
}
