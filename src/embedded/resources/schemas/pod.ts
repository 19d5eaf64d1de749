import { field, object, string } from '../schema.ts'
import { kindSchema } from './metadata.ts'

const podSpec = object('io.k8s.api.core.v1.PodSpec', 'What is wanted of a pod.', {
  nodeName: string('The node that runs the pod.'),
})

const podStatus = object('io.k8s.api.core.v1.PodStatus', 'The current state of a pod.', {
  phase: string('Pending, Running, Succeeded, Failed or Unknown.'),
  podIP: string('Address of the pod.'),
})

export const podSchema = kindSchema({
  name: 'io.k8s.api.core.v1.Pod',
  group: '',
  version: 'v1',
  kind: 'Pod',
  description: 'Containers that run together on a node. The embedded API server runs none.',
  fields: { spec: field(podSpec, 'What is wanted.'), status: field(podStatus, 'What is.') },
})
