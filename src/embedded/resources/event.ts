/** Events, under the core API and under events.k8s.io. */
import type { ApiObject, FieldError, ResourceType, TableColumn, StoredAs } from '../resource.ts'
import { renderAge, renderDuration } from './age.ts'
import { column, nameColumn } from './columns.ts'
import { defineResource } from './define-resource.ts'
import { invalid, required } from './field-errors.ts'
import { wrongDns1123Subdomain } from './names.ts'
import { coreEventSchema, eventSchema } from './schemas/event.ts'

interface Reference {
  readonly kind?: string
  readonly namespace?: string
  readonly name?: string
  readonly uid?: string
  readonly apiVersion?: string
  readonly resourceVersion?: string
  readonly fieldPath?: string
}

interface Series {
  readonly count?: number
  readonly lastObservedTime?: string
}

interface CoreEvent extends ApiObject {
  readonly involvedObject?: Reference
  readonly reason?: string
  readonly message?: string
  readonly type?: string
  readonly count?: number
  readonly firstTimestamp?: string | null
  readonly lastTimestamp?: string | null
  readonly eventTime?: string | null
  readonly series?: Series
  readonly source?: { readonly component?: string; readonly host?: string }
  readonly reportingComponent?: string
  readonly reportingInstance?: string
}

interface Event extends ApiObject {
  readonly regarding?: Reference
  readonly reason?: string
  readonly note?: string
  readonly type?: string
  readonly eventTime?: string
  readonly series?: Series
  readonly action?: string
  readonly reportingController?: string
  readonly reportingInstance?: string
}

const columns: readonly TableColumn[] = [
  column('Last Seen', 'Time since the event last happened.'),
  column('Type', 'Normal or Warning.'),
  column('Reason', 'Why, in one word.'),
  column('Object', 'What it is about.'),
  column('Subobject', 'A part of the object.', 1),
  column('Source', 'Who reported it.', 1),
  column('Message', 'What happened.'),
  column('First Seen', 'Time since the event first happened.', 1),
  column('Count', 'How often it happened.', 1),
  { ...nameColumn, priority: 1 },
]

/** A real server writes these even if they are empty. */
const emptyFields = {
  source: {},
  firstTimestamp: null,
  lastTimestamp: null,
  eventTime: null,
  reportingComponent: '',
  reportingInstance: '',
}

const emptyNewFields = { deprecatedSource: {}, deprecatedFirstTimestamp: null, deprecatedLastTimestamp: null }

const shape = {
  plural: 'events',
  singular: 'event',
  shortNames: ['ev'],
  categories: [],
  isNamespaced: true,
  hasStatus: false,
  wrongName: wrongDns1123Subdomain,
  columns,
} as const

/** The two APIs show the same objects with different field names. They are stored as core Events. */
const coreNameByNewName: Readonly<Record<string, string>> = {
  regarding: 'involvedObject',
  note: 'message',
  reportingController: 'reportingComponent',
  deprecatedSource: 'source',
  deprecatedFirstTimestamp: 'firstTimestamp',
  deprecatedLastTimestamp: 'lastTimestamp',
  deprecatedCount: 'count',
}

const newNameByCoreName = Object.fromEntries(
  Object.entries(coreNameByNewName).map(([newName, core]) => [core, newName]),
)

const storedAsCoreEvent: StoredAs = {
  group: '',
  plural: 'events',
  toStored: (event) => ({ ...renamed(event, coreNameByNewName), apiVersion: 'v1' }),
  fromStored: (event) => ({ ...renamed(event, newNameByCoreName), apiVersion: 'events.k8s.io/v1' }),
}

export const coreEvents: ResourceType = defineResource<CoreEvent>({
  ...shape,
  schema: coreEventSchema,
  selectableFields: {
    ...referenceFields<CoreEvent>('involvedObject', (event) => event.involvedObject),
    reason: (event) => event.reason ?? '',
    type: (event) => event.type ?? '',
    source: (event) => event.source?.component ?? event.reportingComponent ?? '',
    reportingComponent: (event) => event.reportingComponent ?? '',
  },
  cells: coreEventCells,
  complete: (event) => ({ object: { ...emptyFields, ...event }, errors: [] }),
  validate: ({ metadata, involvedObject }) => namespaceErrors(metadata.namespace, involvedObject, 'involvedObject'),
})

export const events: ResourceType = defineResource<Event>({
  ...shape,
  schema: eventSchema,
  selectableFields: {
    ...referenceFields<Event>('regarding', (event) => event.regarding),
    reason: (event) => event.reason ?? '',
    type: (event) => event.type ?? '',
    reportingController: (event) => event.reportingController ?? '',
  },
  cells: (event, nowMs) => coreEventCells(storedAsCoreEvent.toStored(event), nowMs),
  storedAs: storedAsCoreEvent,
  complete: (event) => ({ object: { ...emptyNewFields, ...event }, errors: [] }),
  validate: (event, old) => [
    ...namespaceErrors(event.metadata.namespace, event.regarding, 'regarding'),
    ...(old === undefined ? newEventErrors(event) : []),
  ],
})

function referenceFields<T>(
  prefix: string,
  reference: (event: T) => Reference | undefined,
): Record<string, (event: T) => string> {
  const names = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'] as const
  return Object.fromEntries(names.map((name) => [`${prefix}.${name}`, (event: T) => reference(event)?.[name] ?? '']))
}

function coreEventCells(event: CoreEvent, nowMs: number): (string | number)[] {
  const { series, source, involvedObject = {} } = event
  const first = event.firstTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp
  const last = series?.lastObservedTime ?? event.lastTimestamp ?? first
  const reporter = [source?.component || event.reportingComponent, source?.host || event.reportingInstance]
  return [
    since(last, nowMs),
    event.type ?? '',
    event.reason ?? '',
    `${(involvedObject.kind ?? '').toLowerCase()}/${involvedObject.name ?? ''}`,
    involvedObject.fieldPath ?? '',
    reporter.filter(Boolean).join(', '),
    (event.message ?? '').trim(),
    since(first, nowMs),
    series?.count ?? event.count ?? 1,
    event.metadata.name,
  ]
}

function since(timestamp: string | undefined, nowMs: number): string {
  const at = Date.parse(timestamp ?? '')
  // An event whose time is in the future, because clocks differ, has just happened.
  return Number.isNaN(at) ? renderAge(timestamp, nowMs) : renderDuration(Math.max(0, nowMs - at))
}

function namespaceErrors(namespace: string | undefined, about: Reference | undefined, field: string): FieldError[] {
  // Events about cluster-scoped objects are in "default".
  const expected = about?.namespace || 'default'
  if (namespace === expected || (expected === 'default' && namespace === 'kube-system')) return []
  return [invalid(`${field}.namespace`, about?.namespace ?? '', 'does not match event.namespace')]
}

function newEventErrors(event: Event): FieldError[] {
  const fields = ['eventTime', 'reportingController', 'reportingInstance', 'action', 'reason'] as const
  const errors = fields.filter((field) => !event[field]).map((field) => required(field))
  if (event.type !== 'Normal' && event.type !== 'Warning')
    errors.push(invalid('type', event.type ?? '', 'has invalid value'))
  return errors
}

function renamed(event: ApiObject, names: Readonly<Record<string, string>>): ApiObject {
  const entries = Object.entries(event).map(([key, value]) => [names[key] ?? key, value] as const)
  return Object.fromEntries(entries) as ApiObject
}
