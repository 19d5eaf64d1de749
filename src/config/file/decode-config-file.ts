import { type Document, isAlias, isMap, LineCounter, type Node, parseAllDocuments, type Tags } from 'yaml'
import { shortened } from '../../net/shown-value.ts'
import {
  fairleadApiVersion,
  type FairleadConfiguration,
  fairleadConfiguration,
  fairleadKind,
} from './fairlead-v1alpha1.ts'
import type { InKubeProxy, Place } from './schema.ts'
import { apiVersion, kind, kubeProxyConfiguration, type KubeProxyConfiguration } from './v1alpha1.ts'

interface DecodeProblem {
  /** With its line. */
  readonly text: string
  /** Undefined: it is about the whole file. */
  readonly field: string | undefined
  readonly inKubeProxy: InKubeProxy
}

export type DecodedFile =
  | {
      readonly ok: true
      readonly fields: KubeProxyConfiguration
      readonly fairlead: FairleadConfiguration
      readonly warnings: readonly string[]
    }
  | { readonly ok: false; readonly problems: readonly DecodeProblem[] }

/**
 * Reads YAML or JSON strictly: an unknown or duplicate field is a problem, not a warning
 * (docs/adr/0002-strict-configuration.md). Each problem names its line.
 */
export function decodeConfigFile(content: string): DecodedFile {
  const lines = new LineCounter()
  const [document, ...others] = parseAllDocuments(content, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false, // found by the schema, which knows the path of the field
    version: '1.1', // as kube-proxy reads it: `yes` and `on` are true
    customTags: withoutSurprises,
  })
  if (document === undefined || !('contents' in document) || document.contents === null)
    return refused([`the file is empty: it needs "apiVersion: ${apiVersion}" and "kind: ${kind}"`])
  const second = others.find((other) => isFairlead(other))
  const syntax = [document, ...(second === undefined ? [] : [second])].flatMap(({ errors }) =>
    errors.map((error) => `line ${lines.linePos(error.pos[0]).line}: ${shortened(error.message)}`),
  )
  if (syntax.length > 0) return refused(syntax)

  const problems: DecodeProblem[] = []
  const lineOf = (node: Node) => lines.linePos(node.range?.[0] ?? 0).line
  const placeIn = (within: Document, path = ''): Place => ({
    path,
    inside: (name) => placeIn(within, path === '' || name.startsWith('[') ? path + name : `${path}.${name}`),
    report: (node, problem, inKubeProxy = 'refused') =>
      problems.push({
        text: `line ${lineOf(node)}: ${problem}`,
        field: path === '' ? undefined : path,
        // It reads only the first document.
        inKubeProxy: within === second ? 'accepted' : inKubeProxy,
      }),
    lineOf,
    resolve: (node) => (isAlias(node) ? (node.resolve(within) ?? node) : node),
  })
  const fields = kubeProxyConfiguration.decode(document.contents, placeIn(document))
  const foreign = foreignProblem(fields)
  // In a file of another kind, unknown fields would hide the one real problem.
  if (foreign !== undefined) return refused([foreign])
  const fairlead = second?.contents
    ? fairleadConfiguration.decode(second.contents, placeIn(second))
    : fairleadConfiguration.absent
  const unknown = second === undefined ? undefined : unknownFairlead(fairlead)
  if (unknown !== undefined) return refused([unknown], 'accepted')
  if (problems.length > 0) return { ok: false, problems }
  return { ok: true, fields, fairlead, warnings: warningsAbout(others.filter((other) => other !== second).length) }
}

function refused(texts: readonly string[], inKubeProxy: InKubeProxy = 'refused'): DecodedFile {
  return { ok: false, problems: texts.map((text) => ({ text, field: undefined, inKubeProxy })) }
}

/** kube-proxy ignores them silently. */
function warningsAbout(unused: number): readonly string[] {
  if (unused === 0) return []
  return [
    `${unused === 1 ? 'a YAML document is' : `${unused} YAML documents are`} not used: only the first one is read, ` +
      `and one of kind ${fairleadKind}; remove the others`,
  ]
}

function isFairlead({ contents }: Document): boolean {
  if (!isMap(contents)) return false
  const version = contents.get('apiVersion')
  return contents.get('kind') === fairleadKind || (typeof version === 'string' && version.startsWith('fairlead.dev/'))
}

function unknownFairlead({ apiVersion: version, kind: name }: FairleadConfiguration): string | undefined {
  if (version === fairleadApiVersion && name === fairleadKind) return undefined
  return (
    `no kind "${name ?? ''}" is known for version "${version ?? ''}": ` +
    `use kind "${fairleadKind}" of version "${fairleadApiVersion}"`
  )
}

function foreignProblem(fields: KubeProxyConfiguration): string | undefined {
  if (fields.kind === undefined || fields.kind === '') return `"kind" is missing: write "kind: ${kind}"`
  if (fields.apiVersion === undefined || fields.apiVersion === '')
    return `"apiVersion" is missing: write "apiVersion: ${apiVersion}"`
  if (fields.kind !== kind || fields.apiVersion !== apiVersion)
    return `no kind "${fields.kind}" is known for version "${fields.apiVersion}": use kind "${kind}" of version "${apiVersion}"`
  return undefined
}

/** YAML 1.1 would read 10:30 as the number 630 and 2026-01-01 as a date. Go's YAML does not, and nobody means that. */
function withoutSurprises(tags: Tags): Tags {
  const surprises = new Set(['tag:yaml.org,2002:timestamp', 'tag:yaml.org,2002:binary'])
  return tags.filter(
    (tag) => typeof tag === 'string' || !(surprises.has(tag.tag) || ('format' in tag && tag.format === 'TIME')),
  )
}
