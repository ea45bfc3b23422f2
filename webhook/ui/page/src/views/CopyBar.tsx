/** What an edited copy changes, field by field: each change can be taken back, and the last one undone. */
import type { FieldEdit, WorkloadDetail } from "../api-types";
import type { Client } from "../client";
import { inline, printable } from "../model/words";
import { EditedField } from "../parts/EditedField";
import { useRequest } from "../parts/request";

interface Props {
  client: Client;
  detail: WorkloadDetail;
  manifest: string;
  /** Whether the copy is typed just now: it may be no manifest. */
  typing: boolean;
  onEdit: (edits: FieldEdit[]) => void;
  /** Undoes the last change of this visit; null where there is none. */
  undo: (() => void) | null;
  onShow: () => void;
  onDiscard: () => void;
}

/** Changes that are listed; a diff has the others. */
const MOST_LISTED = 12;

export function CopyBar({ client, detail, manifest, typing, onEdit, undo, onShow, onDiscard }: Props) {
  const original = detail.manifest;
  const { data } = useRequest(typing || !detail.inCluster ? null : `${original}\u0000${manifest}`, (signal) =>
    client.patch({ original, manifest }, signal),
  );
  const changes = data?.changes ?? [];
  return (
    <div class="copy-bar" data-testid="edited">
      {detail.inCluster ? (
        <span role="status">
          <strong>You are looking at an edited copy.</strong> Nothing in the cluster has changed.
        </span>
      ) : (
        <span role="status">
          <strong>The cluster that was read does not have this.</strong> Its pods are placed beside those that run.
        </span>
      )}
      {undo && (
        <button data-testid="undo" onClick={undo}>
          Undo the last change
        </button>
      )}
      <button onClick={onShow}>{detail.inCluster ? "Show the changes" : "Show the manifest"}</button>
      {detail.inCluster && (
        <button data-testid="discard" onClick={onDiscard}>
          Discard the copy
        </button>
      )}
      {changes.length > 0 && (
        <ul class="plain change-list" aria-label="Changes of the copy" data-testid="change-list">
          {changes.slice(0, MOST_LISTED).map((edit) => (
            <li key={edit.field}>
              <EditedField edit={edit} />
              <button
                class="quiet-button"
                aria-label={printable(`Take back: ${edit.field} ${inline(edit.new)}`)}
                onClick={() => {
                  onEdit([{ ...edit, old: edit.new, new: edit.old }]);
                }}
              >
                ✕
              </button>
            </li>
          ))}
          {changes.length > MOST_LISTED && <li class="quiet">and {changes.length - MOST_LISTED} more</li>}
        </ul>
      )}
    </div>
  );
}
