import type { ApiObject, FieldError, ResourceType } from '../resource.ts'
import { cidrErrors } from './address-errors.ts'
import { renderAge } from './age.ts'
import { ageColumn, column, nameColumn } from './columns.ts'
import { defineResource } from './define-resource.ts'
import { duplicate, forbidden, invalid, notSupported, required } from './field-errors.ts'
import { wrongDns1123Subdomain, wrongLabelValue, wrongQualifiedName } from './names.ts'
import { nodeSchema, systemInfoFields } from './schemas/node.ts'

interface Node extends ApiObject {
  readonly spec?: NodeSpec
  readonly status?: NodeStatus
}

interface NodeSpec {
  readonly podCIDR?: string
  readonly podCIDRs?: readonly string[]
  readonly providerID?: string
  readonly unschedulable?: boolean
  readonly taints?: readonly { readonly key?: string; readonly value?: string; readonly effect?: string }[]
}

interface NodeStatus {
  readonly conditions?: readonly { readonly type?: string; readonly status?: string }[]
  readonly addresses?: readonly { readonly type?: string; readonly address?: string }[]
  readonly nodeInfo?: Readonly<Record<string, string>>
  readonly daemonEndpoints?: unknown
}

const rolePrefix = 'node-role.kubernetes.io/'
const taintEffects = ['NoExecute', 'NoSchedule', 'PreferNoSchedule']

export const nodes: ResourceType = defineResource<Node>({
  schema: nodeSchema,
  plural: 'nodes',
  singular: 'node',
  shortNames: ['no'],
  categories: [],
  isNamespaced: false,
  hasStatus: true,
  wrongName: wrongDns1123Subdomain,
  selectableFields: { 'spec.unschedulable': ({ spec }) => String(spec?.unschedulable ?? false) },
  columns: [
    nameColumn,
    column('Status', 'Whether the node is ready.'),
    column('Roles', 'Roles, from the labels.'),
    ageColumn,
    column('Version', 'Version of the kubelet.'),
    column('Internal-IP', 'Address inside the cluster.', 1),
    column('External-IP', 'Address outside the cluster.', 1),
    column('OS-Image', 'Operating system.', 1),
    column('Kernel-Version', 'Version of the kernel.', 1),
    column('Container-Runtime', 'Container runtime and its version.', 1),
  ],
  cells: (node, nowMs) => [
    node.metadata.name,
    renderStatus(node),
    renderRoles(node.metadata.labels ?? {}),
    renderAge(node.metadata.creationTimestamp, nowMs),
    node.status?.nodeInfo?.['kubeletVersion'] ?? '',
    address(node, 'InternalIP'),
    address(node, 'ExternalIP'),
    node.status?.nodeInfo?.['osImage'] || '<unknown>',
    node.status?.nodeInfo?.['kernelVersion'] || '<unknown>',
    node.status?.nodeInfo?.['containerRuntimeVersion'] || '<unknown>',
  ],
  complete: (node, old) => ({ object: inheritPodCIDRs(withReportedFields(node), old), errors: [] }),
  validate: (node, old) => [...specErrors(node.spec ?? {}), ...changeErrors(node.spec ?? {}, old?.spec ?? {})],
})

function renderStatus({ spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  const state = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady'
  return spec?.unschedulable === true ? `${state},SchedulingDisabled` : state
}

function renderRoles(labels: Readonly<Record<string, string>>): string {
  const roles = Object.entries(labels).flatMap(([key, value]) => {
    if (key.startsWith(rolePrefix) && key.length > rolePrefix.length) return [key.slice(rolePrefix.length)]
    return key === 'kubernetes.io/role' && value !== '' ? [value] : []
  })
  return roles.length === 0 ? '<none>' : [...new Set(roles)].sort().join(',')
}

function address({ status }: Node, type: string): string {
  return status?.addresses?.find((one) => one.type === type)?.address ?? '<none>'
}

/** Once set, the ranges of the pods cannot change. */
function inheritPodCIDRs(node: Node, old: Node | undefined): Node {
  const { podCIDR, podCIDRs } = old?.spec ?? {}
  const isGiven = node.spec?.podCIDRs !== undefined || podCIDR === undefined || podCIDRs === undefined
  return isGiven ? { ...node, spec: node.spec ?? {} } : { ...node, spec: { ...node.spec, podCIDR, podCIDRs } }
}

/** A real server writes these fields even if nothing was reported. */
function withReportedFields(node: Node): Node {
  const nodeInfo = Object.fromEntries(systemInfoFields.map((field) => [field, '']))
  return {
    ...node,
    status: {
      daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
      ...node.status,
      nodeInfo: { ...nodeInfo, ...node.status?.nodeInfo },
    },
  }
}

function specErrors({ podCIDR, podCIDRs = [], taints = [] }: NodeSpec): FieldError[] {
  const errors = podCIDRs.flatMap((cidr, index) => cidrErrors(`spec.podCIDRs[${index}]`, cidr))
  if (podCIDRs.length > 0 && podCIDRs[0] !== podCIDR)
    errors.push(invalid('spec.podCIDRs[0]', podCIDRs[0], 'must match `podCIDR`'))
  if (podCIDRs.length > 2)
    errors.push(invalid('spec.podCIDRs', podCIDRs, 'may specify no more than one CIDR for each IP family'))
  const seen = new Set<string>()
  for (const [index, { key = '', value = '', effect = '' }] of taints.entries()) {
    const path = `spec.taints[${index}]`
    const wrongKey = wrongQualifiedName(key)
    const wrongValue = wrongLabelValue(value)
    if (wrongKey !== undefined) errors.push(invalid(`${path}.key`, key, wrongKey))
    if (wrongValue !== undefined) errors.push(invalid(`${path}.value`, value, wrongValue))
    if (effect === '') errors.push(required(`${path}.effect`))
    else if (!taintEffects.includes(effect)) errors.push(notSupported(`${path}.effect`, effect, taintEffects))
    if (seen.has(`${key} ${effect}`)) errors.push(duplicate(path, { key, effect }))
    seen.add(`${key} ${effect}`)
  }
  return errors
}

function changeErrors(spec: NodeSpec, old: NodeSpec): FieldError[] {
  const errors: FieldError[] = []
  if ((old.podCIDRs?.length ?? 0) > 0 && spec.podCIDRs?.join() !== old.podCIDRs?.join())
    errors.push(forbidden('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid'))
  if (old.providerID && spec.providerID !== old.providerID)
    errors.push(forbidden('spec.providerID', 'node updates may not change providerID except from "" to valid'))
  return errors
}
