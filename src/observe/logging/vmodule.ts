import { baseName } from './call-site.ts'

/** --vmodule: more detail for the files whose name without extension matches the pattern. */
export interface VmoduleRule {
  readonly filePattern: string
  readonly verbosity: number
}

/** The first rule that matches the file decides, if any. */
export type VerbosityOfFile = (file: string) => number | undefined

export function verbosityByFile(rules: readonly VmoduleRule[]): VerbosityOfFile {
  const matchers = rules.map(({ filePattern, verbosity }) => ({ pattern: globToRegExp(filePattern), verbosity }))
  const known = new Map<string, number | undefined>()
  return (file) => {
    if (!known.has(file)) {
      const name = baseName(file).replace(/\.[cm]?[jt]s$/, '')
      known.set(file, matchers.find(({ pattern }) => pattern.test(name))?.verbosity)
    }
    return known.get(file)
  }
}

/** `*`, `?` and `[a-z]` as in a shell; everything else is literal. */
function globToRegExp(glob: string): RegExp {
  const source = glob.replace(/\[[^\]]+\]|[\s\S]/g, (token) => {
    if (token === '*') return '.*'
    if (token === '?') return '.'
    if (token.length > 1) return `[${token.slice(1, -1).replace(/\\/g, '\\\\')}]`
    return token.replace(/[\\^$.|+()[\]{}]/g, '\\$&')
  })
  try {
    return new RegExp(`^${source}$`, 's')
  } catch {
    return /^(?!)/ // a broken class such as [z-a] matches nothing
  }
}
