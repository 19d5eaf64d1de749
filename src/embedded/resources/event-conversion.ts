/** The two APIs for events show the same objects under different names. They are stored as core Events. */
import type { ApiObject, StoredAs } from '../resource.ts'

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

export const storedAsCoreEvent: StoredAs = {
  group: '',
  plural: 'events',
  toStored: (event) => ({ ...renamed(event, coreNameByNewName), apiVersion: 'v1' }),
  fromStored: (event) => ({ ...renamed(event, newNameByCoreName), apiVersion: 'events.k8s.io/v1' }),
}

function renamed(event: ApiObject, names: Readonly<Record<string, string>>): ApiObject {
  const entries = Object.entries(event).map(([key, value]) => [names[key] ?? key, value] as const)
  return Object.fromEntries(entries) as ApiObject
}
