/** The JSON schema of a KubeProxyConfiguration, made from what Fairlead itself reads. */
import * as schema from '../../src/config/file/schema.ts'
import type { Schema } from '../../src/config/file/schema.ts'
import { apiVersion, kind, kubeProxyConfiguration } from '../../src/config/file/v1alpha1.ts'

type Json = Readonly<Record<string, unknown>>

const byScalar = new Map<Schema<unknown>, Json>([
  [schema.text, { type: ['string', 'null'] }],
  [schema.bool, { type: ['boolean', 'null'] }],
  [schema.int32, { type: ['integer', 'null'], minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }],
  [schema.uint32, { type: ['integer', 'null'], minimum: 0, maximum: 2 ** 32 - 1 }],
  [schema.float, { type: ['number', 'null'] }],
  [schema.duration, { type: ['string', 'null'], pattern: '^[-+]?(0|([0-9.]+(ns|us|µs|μs|ms|s|m|h))+)$' }],
  [schema.quantity, { type: ['string', 'integer', 'null'] }],
  [schema.boolByName, { type: ['object', 'null'], additionalProperties: { type: 'boolean' } }],
])

/** A file of kubeadm may be taken as it is. What another value would mean, the chart decides for all nodes. */
const decidedByTheChart: Json = { mode: { enum: ['', null] }, hostnameOverride: { enum: ['', null] } }
const kubeconfigOfKubeadm = { enum: ['', null, '/var/lib/kube-proxy/kubeconfig.conf'] }

/** What the value `config` of the chart may be. */
export function configSchema(): Json {
  const { properties, ...rest } = jsonSchemaOf(kubeProxyConfiguration, 'kubeconfig')
  const fixed = { ...decidedByTheChart, apiVersion: { const: apiVersion }, kind: { const: kind } }
  return { ...rest, properties: { ...(properties as Json), ...fixed } }
}

function jsonSchemaOf(node: Schema<unknown>, kubeconfigField?: string): Json {
  const scalar = byScalar.get(node)
  if (scalar !== undefined) return scalar
  if ('fields' in node) {
    const properties = Object.entries((node as schema.ObjectSchema<unknown>).fields).map(([name, field]) => [
      name,
      name === kubeconfigField ? kubeconfigOfKubeadm : jsonSchemaOf(field, kubeconfigField),
    ])
    return { type: ['object', 'null'], additionalProperties: false, properties: Object.fromEntries(properties) as Json }
  }
  if (Array.isArray(node.absent)) return { type: ['array', 'null'] }
  // A number or a text: logging.flushFrequency.
  return { type: ['integer', 'string', 'null'] }
}
