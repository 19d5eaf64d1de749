/** How text may look where it goes: on a terminal it is coloured and fits the width, in a pipe or a file it is plain. */

export interface Terminal {
  /** Without a terminal lines may have any length. */
  readonly columns: number | undefined
  readonly hasColour: boolean
}

export const noTerminal: Terminal = { columns: undefined, hasColour: false }

/** `columns` may change whenever somebody drags a window, so it is asked each time. */
export function terminalOf(
  stream: { readonly isTTY?: boolean; readonly columns?: number },
  env: NodeJS.ProcessEnv,
): Terminal {
  if (stream.isTTY !== true || env['TERM'] === 'dumb') return noTerminal
  return {
    get columns() {
      // A terminal that does not know its size says 0.
      return stream.columns === undefined || stream.columns === 0 ? 80 : stream.columns
    },
    // https://no-color.org: any value but an empty one turns colours off.
    hasColour: (env['NO_COLOR'] ?? '') === '',
  }
}

const codes = { bold: [1, 22], red: [31, 39], yellow: [33, 39] } as const

export function paint({ hasColour }: Terminal, style: keyof typeof codes, text: string): string {
  const [on, off] = codes[style]
  return hasColour ? `\u001B[${on}m${text}\u001B[${off}m` : text
}
