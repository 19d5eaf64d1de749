import type { ObjectSchema, Schema } from '../schema.ts'
import { field, int32, object, pointer, string, time } from '../schema.ts'
import { kindSchema, objectReference } from './metadata.ts'

const microTime: Schema = { type: 'micro-time', description: 'When the event first happened.' }

const eventSource = object('io.k8s.api.core.v1.EventSource', 'Who reported an event.', {
  component: string('The component.'),
  host: string('The node it runs on.'),
})

export const coreEventSchema = kindSchema({
  name: 'io.k8s.api.core.v1.Event',
  group: '',
  version: 'v1',
  kind: 'Event',
  description: 'A report of something that happened in the cluster. It may be lost.',
  fields: {
    involvedObject: field(objectReference, 'What it is about.'),
    reason: string('Why, in one CamelCase word.'),
    message: string('What happened, for a person.'),
    source: field(eventSource, 'Who reported it.'),
    firstTimestamp: time('When it was first seen.'),
    lastTimestamp: time('When it was last seen.'),
    count: int32('How often it was seen.'),
    type: string('Normal or Warning.'),
    eventTime: microTime,
    series: pointer(series('io.k8s.api.core.v1.EventSeries'), 'The run of events it belongs to.'),
    action: string('What was done or failed.'),
    related: pointer(objectReference, 'A second object that it is about.'),
    reportingComponent: string('The controller that reported it, such as fairlead.'),
    reportingInstance: string('The instance of the controller.'),
  },
  required: ['metadata', 'involvedObject'],
})

/** The same events in the newer API, where some fields have other names. */
export const eventSchema = kindSchema({
  name: 'io.k8s.api.events.v1.Event',
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  description: 'A report of something that happened in the cluster. It may be lost.',
  fields: {
    eventTime: microTime,
    series: pointer(series('io.k8s.api.events.v1.EventSeries'), 'The run of events it belongs to.'),
    reportingController: string('The controller that reported it, such as fairlead.'),
    reportingInstance: string('The instance of the controller.'),
    action: string('What was done or failed.'),
    reason: string('Why, in one CamelCase word.'),
    regarding: field(objectReference, 'What it is about.'),
    related: pointer(objectReference, 'A second object that it is about.'),
    note: string('What happened, for a person.'),
    type: string('Normal or Warning.'),
    deprecatedSource: field(eventSource, 'Source of the core API.'),
    deprecatedFirstTimestamp: time('First time of the core API.'),
    deprecatedLastTimestamp: time('Last time of the core API.'),
    deprecatedCount: int32('Count of the core API.'),
  },
  required: ['eventTime'],
})

function series(name: string): ObjectSchema {
  return object(
    name,
    'A run of the same event.',
    {
      count: int32('How often it happened.'),
      lastObservedTime: { type: 'micro-time', description: 'When it last happened.' },
    },
    ['count', 'lastObservedTime'],
  )
}
