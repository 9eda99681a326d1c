/*
 * limits: everything a user can make big has a name here. Bytes unless said otherwise.
 * Limits an operator may move are settings (conf) whose defaults stand here.
 */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#define LIM_BODY (1u << 20)             /* request body */
#define LIM_IMPORT_BODY (64u << 20)     /* import and upload bodies */
#define LIM_JSON_DEPTH 128
#define LIM_PATH 2048
#define LIM_QUERY 8192
#define LIM_HEADER 16384
#define LIM_QUERY_PARAMS 64
#define LIM_NAME 200                    /* characters of a shown name */
#define LIM_KEYWORD 200
#define LIM_PAGE_LIMIT 200              /* rows of a list */
#define LIM_PAGE_DEFAULT 50
#define LIM_SEARCH_HITS 2000            /* messages with the words that a search looks at */
#define LIM_BATCH 200                   /* items of a batch route */
#define LIM_POLICY_FLOORS 1000         /* floors, or ranges of them, that a policy names in one list */
#define LIM_FIELD_ERRORS 50             /* listed in one answer */
#define LIM_MESSAGE (1u << 20)          /* one message */
#define LIM_REPLY (4u << 20)            /* text of one model reply */
#define LIM_BRANCH_ID 100               /* bytes of a new branch's name */
#define LIM_BRANCH_DIFF 10000           /* floors of one side that a comparison of branches lists */
#define LIM_VARIABLES 1000              /* per branch */
#define LIM_VARIABLE_KEY 1024           /* name of a variable */
#define LIM_VARIABLE_BYTES (1u << 20)   /* per branch, all values */
#define LIM_EVENT_VALUE 4096            /* of a variable that an event carries; a longer one is read by its id */
#define LIM_JWT 8192
#define LIM_UPSTREAM_ERROR 4096         /* of a provider's error text that is kept */
#define LIM_UPSTREAM_BODY (32u << 20)   /* a provider's whole answer */
#define LIM_TOOL_CALLS 128              /* of one reply */
#define LIM_REASONING_DETAILS 1024      /* items to send back, of one reply */
#define LIM_SSE_LINE (8u << 20)         /* one line of a provider's stream */

/* Imports (src/card). */
#define LIM_CARD_JSON (32u << 20)       /* JSON text of one card, preset, book; also after inflating */
#define LIM_ARCHIVE_BYTES (256u << 20)  /* a CHARX, all entries inflated */
#define LIM_ARCHIVE_ENTRIES 5000        /* files of one archive */
#define LIM_PICTURE (32u << 20)        /* an avatar or another asset of a card */
#define LIM_ARCHIVE_NAME 1024           /* name of an entry */
#define LIM_EXPORT_FILE (1u << 30)      /* of a job */
#define LIM_CHAT_LINE (16u << 20)       /* one line of a jsonl chat */
#define LIM_RECEIPT_CODE 50             /* items of one code that a receipt lists */

#endif
