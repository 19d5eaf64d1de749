/** The variables that every OpenTelemetry program reads. An empty one counts as absent. */

export interface Setting {
  /** Of the variable or the flag. */
  readonly name: string
  readonly value: string
}

/** Its message is a sentence for whoever set the value. */
export class TraceSettingError extends Error {
  override readonly name = 'TraceSettingError'
}

export function refuse({ name, value }: Setting, why: string): never {
  throw new TraceSettingError(`${name}=${value} ${why}`)
}

export class OtelVariables {
  readonly #env: NodeJS.ProcessEnv

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env
  }

  get(name: string): Setting | undefined {
    const value = this.#env[name]?.trim() ?? ''
    return value === '' ? undefined : { name, value }
  }

  /** The variable for traces wins over the one for all signals. */
  otlp(suffix: string): Setting | undefined {
    return this.get(`OTEL_EXPORTER_OTLP_TRACES_${suffix}`) ?? this.get(`OTEL_EXPORTER_OTLP_${suffix}`)
  }

  bool(name: string): boolean {
    const found = this.get(name)
    if (found === undefined) return false
    const word = found.value.toLowerCase()
    if (word !== 'true' && word !== 'false') refuse(found, 'is neither true nor false')
    return word === 'true'
  }

  number(name: string, otherwise: number, least = 1): number {
    return whole(this.get(name), least) ?? otherwise
  }

  otlpNumber(suffix: string, otherwise: number): number {
    return whole(this.otlp(suffix), 1) ?? otherwise
  }
}

/** The largest delay that a timer takes. */
const most = 2 ** 31 - 1

function whole(found: Setting | undefined, least: number): number | undefined {
  if (found === undefined) return undefined
  const value = /^\d+$/.test(found.value) ? Number(found.value) : NaN
  return value >= least && value <= most ? value : refuse(found, `is not a whole number between ${least} and ${most}`)
}

/** `key=value,…`, each percent-encoded. A value may be a secret, so none is repeated in the message. */
export function listOfPairs(found: Setting | undefined): Readonly<Record<string, string>> {
  const pairs: Record<string, string> = {}
  for (const [index, item] of (found?.value ?? '').split(',').entries()) {
    if (item.trim() === '') continue
    const equals = item.indexOf('=')
    const key = equals < 0 ? '' : decoded(item.slice(0, equals).trim())
    const value = decoded(item.slice(equals + 1).trim())
    if (key === '' || key === undefined || value === undefined)
      throw new TraceSettingError(
        `${found?.name ?? ''} is not a list like key=value,key2=value2: look at item ${index + 1}, and write % as %25`,
      )
    pairs[key] = value
  }
  return pairs
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
