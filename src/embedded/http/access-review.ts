/** Says who may do what. There are no users here, so everybody may do everything. `kubectl auth can-i` asks, and `fairlead doctor`. */
import type { IncomingMessage } from 'node:http'
import { methodNotAllowed } from '../status.ts'
import { readBody } from './body.ts'
import type { Reply } from './reply.ts'
import type { ResourceRoute } from './router.ts'

export function isAccessReview({ group, version, plural }: ResourceRoute): boolean {
  return group === 'authorization.k8s.io' && version === 'v1' && plural === 'selfsubjectaccessreviews'
}

export async function answerAccessReview(request: IncomingMessage): Promise<Reply> {
  if (request.method !== 'POST') throw methodNotAllowed()
  // Whatever it asks for, the answer is the same.
  await readBody(request)
  const status = { allowed: true, reason: 'this server has no users' }
  const body = {
    kind: 'SelfSubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1',
    metadata: {},
    spec: {},
    status,
  }
  return { status: 201, body }
}
