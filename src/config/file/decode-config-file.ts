import { isAlias, LineCounter, type Node, parseAllDocuments, type Tags } from 'yaml'
import { shortened } from '../../net/shown-value.ts'
import type { Place } from './schema.ts'
import { apiVersion, kind, kubeProxyConfiguration, type KubeProxyConfiguration } from './v1alpha1.ts'

export type DecodedFile =
  | { readonly ok: true; readonly fields: KubeProxyConfiguration; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly problems: readonly string[] }

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
    return { ok: false, problems: [`the file is empty: it needs "apiVersion: ${apiVersion}" and "kind: ${kind}"`] }
  const syntax = document.errors.map((error) => `line ${lines.linePos(error.pos[0]).line}: ${shortened(error.message)}`)
  if (syntax.length > 0) return { ok: false, problems: syntax }

  const problems: string[] = []
  const lineOf = (node: Node) => lines.linePos(node.range?.[0] ?? 0).line
  const place = (path: string): Place => ({
    path,
    inside: (name) => place(path === '' || name.startsWith('[') ? path + name : `${path}.${name}`),
    report: (node, problem) => problems.push(`line ${lineOf(node)}: ${problem}`),
    lineOf,
    resolve: (node) => (isAlias(node) ? (node.resolve(document) ?? node) : node),
  })
  const fields = kubeProxyConfiguration.decode(document.contents, place(''))
  const foreign = foreignProblem(fields)
  // In a file of another kind, unknown fields would hide the one real problem.
  if (foreign !== undefined) return { ok: false, problems: [foreign] }
  if (problems.length > 0) return { ok: false, problems }
  const warnings =
    others.length === 0 ? [] : [`only the first of ${others.length + 1} YAML documents is used: remove the others`]
  return { ok: true, fields, warnings }
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
