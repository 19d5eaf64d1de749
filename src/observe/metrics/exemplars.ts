/** For each bucket of a histogram the last trace of something that fell into it. */
export interface Exemplar {
  readonly traceId: string
  readonly value: number
  readonly atMs: number
}

export class Exemplars {
  readonly #byBucket: (Exemplar | undefined)[] = []

  add(bounds: readonly number[], exemplar: Exemplar): void {
    const above = bounds.findIndex((bound) => exemplar.value <= bound)
    this.#byBucket[above === -1 ? bounds.length : above] = exemplar
  }

  get byBucket(): readonly (Exemplar | undefined)[] {
    return this.#byBucket
  }
}
