/** What the form asks: in the address of the page, in the query of `/debug/explain`, and on the command line. */
export interface Question {
  readonly target: string
  readonly from: string
  readonly namespace: string
  readonly port: string
}

export function questionIn(query: URLSearchParams): Question {
  const text = (name: string) => (query.get(name) ?? '').trim()
  return { target: text('target'), from: text('from'), namespace: text('namespace'), port: text('port') }
}

/** Only what was said, so that links stay short. */
export function linkTo(question: Partial<Question>): string {
  const said = Object.entries(question).filter(([, value]) => value !== '')
  const query = new URLSearchParams(said).toString()
  return query === '' ? '/explain' : `/explain?${query}`
}

export function commandFor({ target, from, namespace, port }: Question): string {
  return [
    'fairlead explain',
    ...target.split(/\s+/).map(quoted),
    ...(from === '' ? [] : [`--from=${quoted(from)}`]),
    ...(namespace === '' ? [] : ['-n', quoted(namespace)]),
    ...(port === '' ? [] : [`--port=${quoted(port)}`]),
  ].join(' ')
}

/** As a shell takes it. */
function quoted(text: string): string {
  return /^[\w.:/@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** Services whose name or namespace has what was typed, those that begin with it first. */
export function suggestionsFor(typed: string, services: readonly string[], most = 12): readonly string[] {
  const wanted = typed
    .trim()
    .toLowerCase()
    .replace(/^(?:services?|svc)[/ ]/, '')
  const begins: string[] = []
  const has: string[] = []
  for (const key of services) {
    const at = key.indexOf(wanted)
    if (at < 0) continue
    if (at === 0 || key[at - 1] === '/') begins.push(key)
    else has.push(key)
    if (begins.length >= most) break
  }
  return [...begins, ...has].slice(0, most).map((key) => `service/${key}`)
}
