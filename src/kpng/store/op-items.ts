/** Encoded items of one Service, and the difference between two lists of them. */

/** An item at a path, with the bytes that set it and the bytes that delete it. */
export interface OpItem {
  readonly path: string
  readonly set: Buffer
  readonly delete: Buffer
}

export interface ItemChanges {
  /** In ascending order of path. */
  readonly sets: readonly Buffer[]
  /** In descending order of path. */
  readonly deletes: readonly Buffer[]
}

/** Both lists in ascending order of path. */
export function diffItems(
  before: readonly OpItem[],
  after: readonly OpItem[],
  compare: (left: string, right: string) => number,
): ItemChanges {
  if (before === after) return noChanges
  const sets: Buffer[] = []
  const deletes: Buffer[] = []
  let old = 0
  for (const item of after) {
    for (let gone = before[old]; gone !== undefined && compare(gone.path, item.path) < 0; gone = before[++old])
      deletes.push(gone.delete)
    const known = before[old]
    if (known !== undefined && known.path === item.path) {
      old++
      if (known.set === item.set || known.set.equals(item.set)) continue
    }
    sets.push(item.set)
  }
  for (let gone = before[old]; gone !== undefined; gone = before[++old]) deletes.push(gone.delete)
  return sets.length === 0 && deletes.length === 0 ? noChanges : { sets, deletes: deletes.reverse() }
}

const noChanges: ItemChanges = { sets: [], deletes: [] }
