import { atomicList, field, keyedList, object, string, time } from '../schema.ts'
import { kindSchema } from './metadata.ts'

const namespaceSpec = object('io.k8s.api.core.v1.NamespaceSpec', 'What is wanted of a namespace.', {
  finalizers: atomicList('What must be empty before the namespace goes away.', string('')),
})

const namespaceCondition = object(
  'io.k8s.api.core.v1.NamespaceCondition',
  'One aspect of the state of a namespace.',
  {
    type: string('What the condition is about.'),
    status: string('True, False or Unknown.'),
    lastTransitionTime: time('When the status last changed.'),
    reason: string('Why, in one CamelCase word.'),
    message: string('Why, for a person.'),
  },
  ['type', 'status'],
)

const namespaceStatus = object('io.k8s.api.core.v1.NamespaceStatus', 'The current state of a namespace.', {
  phase: string('Active or Terminating.'),
  conditions: keyedList('Current state of the namespace.', namespaceCondition, ['type']),
})

export const namespaceSchema = kindSchema({
  name: 'io.k8s.api.core.v1.Namespace',
  group: '',
  version: 'v1',
  kind: 'Namespace',
  description: 'A scope for names.',
  fields: {
    spec: field(namespaceSpec, 'What is wanted.'),
    status: field(namespaceStatus, 'What is. Only the system writes it.'),
  },
})
