/** Puts objects into an API server the way `kubectl apply --server-side` does, so that a second run changes nothing. */
import { CommandError } from '../program.ts'
import type { SampleObject } from './sample-application.ts'

export async function loadObjects(url: string, objects: readonly SampleObject[]): Promise<void> {
  for (const { path, object } of objects) {
    const response = await fetch(`${url}${path}/${object.metadata.name}?fieldManager=fairlead-demo&force=true`, {
      method: 'PATCH',
      headers: { 'Content-Type': 'application/apply-patch+yaml' },
      body: JSON.stringify(object),
    })
    if (!response.ok) throw new CommandError(`the sample application was refused at ${path}: ${await response.text()}`)
    await response.body?.cancel()
  }
}
