/** Saves a view of the cluster as one file. */
import { useState } from "preact/hooks";
import type { ShownBody } from "../api-types";
import type { Client, RequestError } from "../client";
import type { PageState } from "../model/fragment";
import type { Picture } from "../model/picture";
import { Menu, type Choice } from "../parts/Menu";
import { fileName, savePicture } from "../parts/save";
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

/** Return the choices of a menu that save a picture, which is made when one is chosen. */
export function pictureChoices(
  name: string,
  make: (signal: AbortSignal) => Picture | Promise<Picture>,
  guarded: (act: (signal: AbortSignal) => Promise<void>) => void,
): Choice[] {
  return (["png", "svg"] as const).map((kind) => ({
    label: `Picture (${kind.toUpperCase()})`,
    testId: `save-${kind}`,
    act: () => {
      guarded(async (signal) => {
        await savePicture(kind, name, await make(signal));
      });
    },
  }));
}

interface Props {
  client: Client;
  title: string;
  verdict: string;
  state: PageState;
  audit: Audit | null;
  /** Return the picture of what is listed. */
  picture: (title: string, about: readonly string[]) => Picture;
}

/** A menu that saves the view, or a picture of it. */
export function SaveView({ client, title, verdict, state, audit, picture }: Props) {
  const { save, failed } = useSaveView(client);
  const [refused, setRefused] = useState<RequestError | null>(null);
  const send = useSend();
  const choices = pictureChoices(
    fileName("evenkeel", title),
    () => picture(title, [verdict]),
    (act) => {
      void send((signal) =>
        act(signal).then(
          () => {
            setRefused(null);
          },
          (error: unknown) => {
            setRefused(asRequestError(error));
          },
        ),
      );
    },
  );
  const error = failed ?? refused;
  return (
    <div class="save-view">
      <Menu
        label="Save"
        testId="save"
        choices={[
          {
            label: "This view (HTML)",
            testId: "save-view",
            disabled: !client.served,
            act: () => {
              save({ title, verdict, action: "" }, state, audit);
            },
          },
          ...choices,
        ]}
      />
      {error && <Failure error={error} />}
    </div>
  );
}
