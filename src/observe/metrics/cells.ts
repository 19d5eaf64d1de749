/**
 * The values of a metric, one cell for each set of labels. They are written in every sync and read at a scrape, so
 * writing is a look-up; the library, which checks and sorts labels at each write, gets them at the scrape.
 */
export class Cells<Label extends string, Cell extends object> {
  readonly #labels: readonly Label[]
  readonly #empty: () => Cell
  readonly #byLabels = new Map<string, LabelledCell<Label, Cell>>()
  /** Who writes often does so with the same object, and with one that cannot change. */
  #byObject = new WeakMap<object, Cell>()

  constructor(labels: readonly Label[], empty: () => Cell) {
    this.#labels = labels
    this.#empty = empty
    this.reset()
  }

  at(labels: Readonly<Record<Label, string>>): Cell {
    const known = this.#byObject.get(labels)
    if (known !== undefined) return known
    const key = this.#keyOf(labels)
    let found = this.#byLabels.get(key)
    if (found === undefined) this.#byLabels.set(key, (found = { labels: { ...labels }, cell: this.#empty() }))
    if (Object.isFrozen(labels)) this.#byObject.set(labels, found.cell)
    return found.cell
  }

  all(): readonly LabelledCell<Label, Cell>[] {
    return [...this.#byLabels.values()]
  }

  /** What has no labels is there from the start, as with Go's client. */
  reset(): void {
    this.#byLabels.clear()
    this.#byObject = new WeakMap()
    if (this.#labels.length === 0) this.at({} as Record<Label, string>)
  }

  #keyOf(labels: Readonly<Record<Label, string>>): string {
    let key = ''
    for (const name of this.#labels) key = key === '' ? labels[name] : `${key}\0${labels[name]}`
    return key
  }
}

export interface LabelledCell<Label extends string, Cell> {
  readonly labels: Readonly<Record<Label, string>>
  readonly cell: Cell
}
