/** What the reader wants to see of the Services, as it stands in the address. */
export const filters = ['problem', 'no-endpoints', 'external', 'policy'] as const
export type Filter = (typeof filters)[number]

export const columns = ['name', 'namespace', 'type', 'ip', 'ports', 'endpoints', 'rate', 'bytes', 'notes'] as const
export type Column = (typeof columns)[number]

export interface Sort {
  readonly column: Column
  readonly isDescending: boolean
}

export interface Question {
  readonly text: string
  readonly filters: readonly Filter[]
  /** Empty: of all. */
  readonly namespace: string
  readonly sort: Sort
}

const byName: Sort = { column: 'name', isDescending: false }

/** `?q=web&filter=problem,external&namespace=shop&sort=-rate` */
export function questionIn(search: URLSearchParams): Question {
  const asked = new Set(search.get('filter')?.split(','))
  return {
    text: search.get('q') ?? '',
    filters: filters.filter((filter) => asked.has(filter)),
    namespace: search.get('namespace') ?? '',
    sort: sortIn(search.get('sort') ?? ''),
  }
}

/** With `?`, or empty where nothing is out of the ordinary. */
export function searchOf({ text, filters, namespace, sort }: Question): string {
  const search = new URLSearchParams()
  if (text !== '') search.set('q', text)
  if (filters.length > 0) search.set('filter', filters.join(','))
  if (namespace !== '') search.set('namespace', namespace)
  if (!isSameSort(sort, byName)) search.set('sort', `${sort.isDescending ? '-' : ''}${sort.column}`)
  // A comma may stand in an address as it is, and is easier to read.
  const written = search.toString().replaceAll('%2C', ',')
  return written === '' ? '' : `?${written}`
}

/** What another press on the head of a column asks for. Of numbers, the greatest come first. */
export function nextSort(sort: Sort, column: Column): Sort {
  if (sort.column === column) return { column, isDescending: !sort.isDescending }
  return { column, isDescending: column === 'rate' || column === 'bytes' || column === 'notes' }
}

export function isSameSort(a: Sort, b: Sort): boolean {
  return a.column === b.column && a.isDescending === b.isDescending
}

function sortIn(text: string): Sort {
  const isDescending = text.startsWith('-')
  const name = isDescending ? text.slice(1) : text
  const column = columns.find((one) => one === name)
  return column === undefined ? byName : { column, isDescending }
}
