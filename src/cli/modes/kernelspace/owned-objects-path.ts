import { join } from 'node:path'
import type { Host } from '../../host/host.ts'
import { notesFolder } from '../notes-folder.ts'

/** The record of what is ours in HNS. */
export function ownedObjectsPath(stateDir: string, host: Pick<Host, 'env'>): string {
  return join(notesFolder(stateDir, host), 'hns-objects')
}
