/** Saves a view of the cluster as one file. */
import { useState } from "preact/hooks";
import type { ShownBody } from "../api-types";
import type { Client, RequestError } from "../client";
import type { PageState } from "../model/fragment";
import { fileName } from "../parts/save";
import { asRequestError, useSend } from "../parts/request";
import { Failure } from "../parts/text";
import type { Audit } from "./audit";
import { saveView } from "./savedView";

interface Saving {
  /** Saves what is on the screen, and what is to be said of it. */
  save: (words: Omit<ShownBody, "command"> & { command?: string }, state: PageState, audit: Audit | null) => void;
  failed: RequestError | null;
}

/** Return what saves a view, and why that failed. */
export function useSaveView(client: Client): Saving {
  const [failed, setFailed] = useState<RequestError | null>(null);
  const send = useSend();
  return {
    failed,
    save: (words, state, audit) => {
      void send(async (signal) => {
        try {
          const file = await client.savedView({ command: "", ...words }, signal);
          saveView(fileName("evenkeel", words.title), file, state, audit);
          setFailed(null);
        } catch (error) {
          if (!signal.aborted) setFailed(asRequestError(error));
        }
      });
    },
  };
}

interface Props {
  client: Client;
  title: string;
  verdict: string;
  state: PageState;
  audit: Audit | null;
}

/** A button that saves the view; nothing in a view that is saved already. */
export function SaveView({ client, title, verdict, state, audit }: Props) {
  const { save, failed } = useSaveView(client);
  if (!client.served) return null;
  return (
    <div class="save-view">
      <button
        data-testid="save-view"
        onClick={() => {
          save({ title, verdict, action: "" }, state, audit);
        }}
      >
        Save this view (HTML)
      </button>
      {failed && <Failure error={failed} />}
    </div>
  );
}
