/** The text of `/debug/rules` by its parts. One part alone comes without a line that names it. */
export interface Section {
  readonly part: string
  readonly text: string
}

const heading = /^# (?:ipv4|ipv6), part (.+)$/

export function sectionsOf(text: string): readonly Section[] {
  const sections: { part: string; lines: string[] }[] = []
  for (const line of text.split('\n')) {
    const part = heading.exec(line)?.[1]
    if (part !== undefined) sections.push({ part, lines: [] })
    else if (sections.length > 0) sections.at(-1)?.lines.push(line)
    else if (line !== '') sections.push({ part: '', lines: [line] })
  }
  return sections.map(({ part, lines }) => ({ part, text: lines.join('\n') }))
}
