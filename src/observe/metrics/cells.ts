/**
 * The values of a metric, one cell for each set of labels. They are written in every sync and read at a scrape. Who
 * writes often keeps the cell, so that writing is no more than an addition; the library, which checks and sorts labels
 * at each write, gets them at the scrape.
 */
export interface Cell {
  /** A cell that nobody has written to is no series. */
  isWritten: boolean
  clear(): void
}

export interface LabelledCell<Label extends string, C extends Cell> {
  readonly labels: Readonly<Record<Label, string>>
  readonly cell: C
}

export class Cells<Label extends string, C extends Cell> {
  readonly #labels: readonly Label[]
  readonly #empty: () => C
  readonly #byLabels = new Map<string, LabelledCell<Label, C>>()

  constructor(labels: readonly Label[], empty: () => C) {
    this.#labels = labels
    this.#empty = empty
    this.reset()
  }

  /** The same one for the same labels, for ever. */
  at(labels: Readonly<Record<Label, string>>): C {
    const key = this.#keyOf(labels)
    let found = this.#byLabels.get(key)
    if (found === undefined) this.#byLabels.set(key, (found = { labels: { ...labels }, cell: this.#empty() }))
    return found.cell
  }

  all(): readonly LabelledCell<Label, C>[] {
    return [...this.#byLabels.values()].filter(({ cell }) => cell.isWritten)
  }

  reset(): void {
    for (const { cell } of this.#byLabels.values()) {
      cell.clear()
      cell.isWritten = false
    }
    // What has no labels is there from the start, as with Go's client.
    if (this.#labels.length === 0) this.at({} as Record<Label, string>).isWritten = true
  }

  #keyOf(labels: Readonly<Record<Label, string>>): string {
    let key = ''
    for (const name of this.#labels) key = key === '' ? labels[name] : `${key}\0${labels[name]}`
    return key
  }
}
