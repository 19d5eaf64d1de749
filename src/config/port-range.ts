/** First and last are included. */
interface PortRange {
  readonly first: number
  readonly last: number
}

export type ParsedPortRange =
  | { readonly ok: true; /** Undefined: any port. */ readonly range: PortRange | undefined }
  | { readonly ok: false; readonly problem: string }

/** `40000-40999`, `40000+999` or `40000`, as in kube-proxy up to 1.25; empty, `0` and `0-0` mean any port. */
export function parsePortRange(text: string): ParsedPortRange {
  const trimmed = text.trim()
  if (['', '0', '0-0'].includes(trimmed)) return { ok: true, range: undefined }
  const [, from = '', sign, to = ''] = /^(\d{1,5})(?:([-+])(\d{1,5}))?$/.exec(trimmed) ?? []
  if (from === '') return wrong('must be empty, a port, or a range like 40000-40999 or 40000+999')
  const first = Number(from)
  const last = sign === undefined ? first : sign === '-' ? Number(to) : first + Number(to)
  if (first === 0) return wrong('must not begin with port 0')
  if (last > 65_535) return wrong('must end at 65535 or before')
  return first > last ? wrong('must not end before it begins') : { ok: true, range: { first, last } }
}

function wrong(problem: string): ParsedPortRange {
  return { ok: false, problem }
}
