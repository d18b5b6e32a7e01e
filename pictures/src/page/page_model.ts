// The model of a picture in a page without a kernel: it keeps its values in the page.

export type Values = Record<string, unknown>;
export type Hear = (...told: unknown[]) => void;

export class PageModel {
	values: Values;
	private readonly heard: Record<string, Hear[]> = {};

	constructor(values: Values) {
		this.values = values;
	}
	get(name: string) {
		return this.values[name];
	}
	set(name: string, value: unknown) {
		if (this.values[name] === value) return;
		this.values[name] = value;
		this.fire(`change:${name}`);
	}
	on(name: string, hear: Hear) {
		(this.heard[name] ??= []).push(hear);
	}
	off(name: string, hear: Hear) {
		this.heard[name] = (this.heard[name] ?? []).filter((one) => one !== hear);
	}
	fire(name: string, ...told: unknown[]) {
		for (const hear of this.heard[name] ?? []) hear(...told);
	}
	save_changes() {}
}

// A module with a picture, as anywidget calls it.
export interface PictureModule {
	default: { render(given: { model: PageModel; el: Element }): Promise<(() => void) | undefined> };
}
