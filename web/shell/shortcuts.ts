/** Which keys do something everywhere. One at a time, or `g` and the letter of a page within a second or so. */
export interface Pressed {
  readonly key: string
  readonly at: number
}

export type Command = { readonly does: 'search' | 'help' | 'theme' } | { readonly does: 'go'; readonly letter: string }

const togetherMs = 1_500

export function commandOf(pressed: Pressed, before: Pressed | undefined): Command | undefined {
  const { key, at } = pressed
  if (before?.key === 'g' && at - before.at < togetherMs && /^[a-z]$/.test(key)) return { does: 'go', letter: key }
  if (key === '/') return { does: 'search' }
  if (key === '?') return { does: 'help' }
  if (key === 't') return { does: 'theme' }
  return undefined
}
