/** Finds the configuration of a kube-proxy in what people have: a file, a ConfigMap, a DaemonSet, a static pod, a k3s configuration. */
import { parseAllDocuments } from 'yaml'
import { kind as configurationKind } from '../../config/file/v1alpha1.ts'

export interface Input {
  /** As the user named it. */
  readonly name: string
  readonly text: string
}

export interface Given {
  /** Where it was found, for people. */
  readonly sources: readonly string[]
  /** The text of a KubeProxyConfiguration, and what to call it. */
  readonly file: Input | undefined
  readonly flags: readonly string[]
}

export type ReadGiven = { readonly ok: true; readonly given: Given } | { readonly ok: false; readonly problem: string }

type Piece =
  | { readonly kind: 'file'; readonly source: string; readonly file: Input }
  | { readonly kind: 'flags'; readonly source: string; readonly flags: readonly string[] }

export function readGiven(inputs: readonly Input[]): ReadGiven {
  const pieces: Piece[] = []
  for (const input of inputs) {
    const documents = parseAllDocuments(input.text, { prettyErrors: false, uniqueKeys: false })
    const broken = documents.flatMap((document) => document.errors)[0]
    // Of a configuration itself the decoder says where and what.
    if (broken !== undefined && !input.text.includes(configurationKind))
      return { ok: false, problem: `${input.name} is not YAML: ${broken.message}` }
    if (broken !== undefined) pieces.push({ kind: 'file', source: input.name, file: input })
    else
      for (const document of documents)
        pieces.push(...piecesOf(document.toJS() as unknown, { name: input.name, text: textOf(document, input.text) }))
  }
  return combine(pieces, inputs)
}

/** One document of several, as a kubeadm configuration has them, at the lines that it has in the whole. */
function textOf({ range }: { readonly range?: readonly number[] | null }, whole: string): string {
  const [start = 0, , end = whole.length] = range ?? []
  const before = whole.slice(0, start).replaceAll(/[^\n]/g, '')
  return before + whole.slice(start, end)
}

function combine(pieces: readonly Piece[], inputs: readonly Input[]): ReadGiven {
  const files = pieces.filter((piece) => piece.kind === 'file')
  const commands = pieces.filter((piece) => piece.kind === 'flags')
  const names = inputs.map(({ name }) => name).join(', ')
  if (pieces.length === 0)
    return {
      ok: false,
      problem: `no configuration of kube-proxy in ${names}: give a ${configurationKind} file, the ConfigMap or DaemonSet of kube-proxy, its static pod, or a k3s configuration with kube-proxy-arg`,
    }
  for (const several of [files, commands])
    if (several.length > 1)
      return {
        ok: false,
        problem: `more than one kube-proxy in ${names}: ${several.map(({ source }) => source).join(', ')}. Give one at a time`,
      }
  const [file] = files
  const flags = commands[0]?.flags ?? []
  const named = flags.find((flag) => /^--config[= ]?/.test(flag) && !flag.startsWith('--config-'))
  if (named !== undefined && file === undefined)
    return {
      ok: false,
      problem: `kube-proxy takes its configuration from a file (${named}): give that too, for example kubectl get -n kube-system cm/kube-proxy ds/kube-proxy -o yaml | fairlead migrate --check --from=-`,
    }
  return { ok: true, given: { sources: pieces.map(({ source }) => source), file: file?.file, flags } }
}

function piecesOf(value: unknown, input: Input): readonly Piece[] {
  if (!isRecord(value)) return []
  if (Array.isArray(value['items'])) return value['items'].flatMap((item) => piecesOf(item, input))
  if (value['kind'] === configurationKind) return [{ kind: 'file', source: input.name, file: input }]
  if (value['kind'] === 'ConfigMap') return configurationsIn(value)
  if ('kube-proxy-arg' in value)
    return [
      {
        kind: 'flags',
        source: `kube-proxy-arg in ${input.name}`,
        flags: texts(value['kube-proxy-arg']).map(withDashes),
      },
    ]
  return commandsIn(value)
}

function configurationsIn(map: Record<string, unknown>): readonly Piece[] {
  const data = isRecord(map['data']) ? map['data'] : {}
  return Object.entries(data).flatMap(([key, text]) => {
    if (typeof text !== 'string' || !new RegExp(`kind"?: *"?${configurationKind}`).test(text)) return []
    return [{ kind: 'file', source: `${nameOf(map)}, key ${key}`, file: { name: key, text } } as const]
  })
}

function commandsIn(object: Record<string, unknown>): readonly Piece[] {
  const spec = isRecord(object['spec']) ? object['spec'] : {}
  const template = isRecord(spec['template']) && isRecord(spec['template']['spec']) ? spec['template']['spec'] : spec
  const containers = Array.isArray(template['containers']) ? template['containers'] : []
  return containers.filter(isRecord).flatMap((container) => {
    const words = [...texts(container['command']), ...texts(container['args'])]
    const isKubeProxy = container['name'] === 'kube-proxy' || words.some((word) => /(^|[/ ])kube-proxy( |$)/.test(word))
    return isKubeProxy ? [{ kind: 'flags', source: nameOf(object), flags: flagsIn(words) } as const] : []
  })
}

/** Some pods have one string for a shell instead of a list. */
function flagsIn(words: readonly string[]): readonly string[] {
  const line = words.find((word) => /kube-proxy +-/.test(word))
  const all = line === undefined ? words : line.slice(line.indexOf('kube-proxy')).split(/\s+/)
  const start = all.findIndex((word) => word.startsWith('-'))
  if (start < 0) return []
  const end = all.findIndex((word, index) => index > start && /^(\d?>|\||;|&&)/.test(word))
  return all.slice(start, end < 0 ? undefined : end)
}

function nameOf(object: Record<string, unknown>): string {
  const metadata = isRecord(object['metadata']) ? object['metadata'] : {}
  const kind = typeof object['kind'] === 'string' ? object['kind'] : 'object'
  const place = [metadata['namespace'], metadata['name']].filter((part) => typeof part === 'string')
  return `${kind} ${place.join('/')}`.trim()
}

function withDashes(flag: string): string {
  return flag.startsWith('-') ? flag : `--${flag}`
}

function texts(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.map(String) : []
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
