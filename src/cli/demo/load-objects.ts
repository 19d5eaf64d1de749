/** Puts objects into an API server the way `kubectl apply --server-side` does, so that a second run changes nothing. */
import { CommandError } from '../program.ts'
import type { SampleObject } from './sample-application.ts'

export async function loadObjects(url: string, objects: readonly SampleObject[]): Promise<void> {
  for (const { path, object } of objects) {
    const resource = `${url}${path}/${object.metadata.name}`
    await apply(resource, object)
    if (object['status'] !== undefined) await apply(`${resource}/status`, object)
  }
}

async function apply(url: string, object: SampleObject['object']): Promise<void> {
  const response = await fetch(`${url}?fieldManager=fairlead-demo&force=true`, {
    method: 'PATCH',
    headers: { 'Content-Type': 'application/apply-patch+yaml' },
    body: JSON.stringify(object),
  })
  const answer = await response.text()
  if (!response.ok) throw new CommandError(`the sample application was refused at ${url}: ${answer}`)
}
