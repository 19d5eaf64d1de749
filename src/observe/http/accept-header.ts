/** One clause of an Accept header: `application/json;v=v1beta1;q=0.5`. */
export interface AcceptClause {
  readonly type: string
  readonly subtype: string
  readonly parameters: ReadonlyMap<string, string>
}

/** The most wanted clause first; an absent header accepts everything. */
export function parseAccept(header: string | undefined): readonly AcceptClause[] {
  const clauses = (header ?? '').trim() === '' ? ['*/*'] : (header ?? '').split(',')
  return clauses
    .map(parseClause)
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
}

/** The clause may contain wildcards. */
export function admits(clause: AcceptClause, type: string, subtype: string): boolean {
  if (clause.type === '*') return true
  return clause.type === type && (clause.subtype === '*' || clause.subtype === subtype)
}

function parseClause(text: string): AcceptClause & { readonly quality: number } {
  const [media = '', ...rest] = text.split(';').map((part) => part.trim())
  const [type = '', subtype = ''] = media.toLowerCase().split('/')
  const parameters = new Map(
    rest.map((parameter) => {
      const [name = '', ...value] = parameter.split('=')
      return [name.trim(), value.join('=').trim()] as const
    }),
  )
  const quality = Number(parameters.get('q') ?? 1)
  return { type, subtype, parameters, quality: Number.isNaN(quality) ? 0 : quality }
}
